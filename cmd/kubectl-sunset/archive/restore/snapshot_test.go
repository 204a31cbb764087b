// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

const volumeSnapshot = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  name: sunset-u-1
  namespace: shop
  annotations:
    sunset-k8s.io/claim: '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","uid":"u","labels":{"app":"db"}},
      "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"fast"}}'
spec: {source: {persistentVolumeClaimName: data}}
status: {readyToUse: true, creationTime: "2026-03-01T12:00:05Z", restoreSize: "1Gi"}
`

func TestReadSnapshot(t *testing.T) {
	for name, test := range map[string]struct {
		from, to string
		size     string // empty for an error
		unready  string
	}{
		"as it was":                             {"", "", "1Gi", ""},
		"a larger snapshot":                     {`restoreSize: "1Gi"`, `restoreSize: "1536Mi"`, "1536Mi", ""},
		"a smaller snapshot":                    {`restoreSize: "1Gi"`, `restoreSize: "1"`, "1Gi", ""},
		"the driver does not say the size":      {`, restoreSize: "1Gi"`, "", "1Gi", ""},
		"not ready":                             {"readyToUse: true", "readyToUse: false", "1Gi", "it is not ready to use"},
		"failed":                                {"readyToUse: true", "readyToUse: false, error: {message: no space}", "1Gi", "it is not ready to use: no space"},
		"being deleted":                         {"name: sunset-u-1", "name: sunset-u-1\n  deletionTimestamp: 2026-03-01T12:00:00Z", "1Gi", "it is being deleted"},
		"a manifest of another claim":           {`"name":"data"`, `"name":"other"`, "", ""},
		"a manifest of another namespace":       {`"namespace":"shop"`, `"namespace":"other"`, "", ""},
		"a manifest of another kind":            {`"kind":"PersistentVolumeClaim"`, `"kind":"Secret"`, "", ""},
		"a manifest that cannot be read":        {`{"apiVersion":"v1"`, `{`, "", ""},
		"a VolumeSnapshot that a user has made": {"sunset-k8s.io/claim:", "other:", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := restore.ReadSnapshot(fixture.Decode(t, strings.Replace(volumeSnapshot, test.from, test.to, 1)))
			if (err == nil) != (test.size != "") {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			size, _, _ := unstructured.NestedString(s.Claim.Object, "spec", "resources", "requests", "storage")
			expect.Equal(t, "size", test.size, size)
			expect.Equal(t, "unready", test.unready, s.Unready)
		})
	}
}

// TestManifestIsFiltered: users can change the annotation of a VolumeSnapshot. Nothing of it that Sunset does not write gets into the
// restored claim.
func TestManifestIsFiltered(t *testing.T) {
	const planted = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","uid":"u","resourceVersion":"7","generateName":"x",
      "creationTimestamp":"2026-01-01T00:00:00Z","finalizers":["example.com/stays"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"p"}],
      "managedFields":[{"manager":"x"}],"labels":{"app":"db"},"annotations":{"team":"a","pv.kubernetes.io/bind-completed":"yes","volume.kubernetes.io/selected-node":"n",
      "volume.kubernetes.io/storage-provisioner":"old","kubectl.kubernetes.io/last-applied-configuration":"{}"}},
      "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"fast","volumeName":"pv-of-others","selector":{"matchLabels":{"a":"b"}},
      "dataSource":{"kind":"PersistentVolumeClaim","name":"other"},"dataSourceRef":{"kind":"PersistentVolumeClaim","name":"other","namespace":"others"}},"status":{"phase":"Bound"}}`
	object := fixture.Decode(t, volumeSnapshot)
	expect.NoError(t, unstructured.SetNestedField(object, planted, "metadata", "annotations", "sunset-k8s.io/claim"))
	s, err := restore.ReadSnapshot(object)
	expect.NoError(t, err)
	expect.Equal(t, "claim", fixture.Decode(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop, uid: u, labels: {app: db}, annotations: {team: a}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  storageClassName: fast
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: sunset-u-1}
`), s.Claim.Object)
}

// TestChooser: the newest VolumeSnapshot that is ready to use, or the one that the user names; if it cannot be used, the reason.
func TestChooser(t *testing.T) {
	with := func(replacements ...string) string {
		return strings.NewReplacer(replacements...).Replace(volumeSnapshot)
	}
	older := with("sunset-u-1", "older", "12:00:05", "11:00:00")
	failed := with("sunset-u-1", "failed", "readyToUse: true", "readyToUse: false, error: {message: no space}")
	other := with("sunset-u-1", "of-other", `"name":"data"`, `"name":"other"`, "persistentVolumeClaimName: data", "persistentVolumeClaimName: other")
	broken := with("sunset-u-1", "broken", "sunset-k8s.io/claim:", "nothing:")
	for name, test := range map[string]struct {
		from     string
		all      []string
		chosen   string
		unusable string
	}{
		"the newest":                           {"", []string{older, volumeSnapshot, other}, "sunset-u-1", ""},
		"in another order":                     {"", []string{volumeSnapshot, older}, "sunset-u-1", ""},
		"the one that the user names":          {"older", []string{volumeSnapshot, older}, "older", ""},
		"one that is ready":                    {"", []string{failed, older}, "older", "VolumeSnapshot failed: it is not ready to use: no space"},
		"a named one that failed":              {"failed", []string{failed, older}, "", "VolumeSnapshot failed: it is not ready to use: no space"},
		"a named one of another claim":         {"of-other", []string{other, older}, "", "VolumeSnapshot of-other: it is of PersistentVolumeClaim other"},
		"a named one that Sunset did not make": {"broken", []string{broken}, "", "annotation sunset-k8s.io/claim of VolumeSnapshot shop/broken: "},
		"none of the claim":                    {"", []string{other}, "", ""},
		"a name that does not exist":           {"none", []string{older}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &restore.Chooser{Claim: "data", From: test.from}
			for _, text := range test.all {
				c.Add(fixture.Decode(t, text))
			}
			got, unusable := c.Chosen()
			chosen := ""
			if got != nil {
				chosen = got.Name
			}
			expect.Equal(t, "chosen", test.chosen, chosen)
			if said := strings.Join(unusable, "; "); !strings.HasPrefix(said, test.unusable) || test.unusable == "" && said != "" {
				t.Errorf("unusable: %q, want %q", said, test.unusable)
			}
		})
	}
}

// TestPlanOfAClaim: the claim comes back with its snapshot as the data source, a hold, and what it was restored from.
func TestPlanOfAClaim(t *testing.T) {
	s, err := restore.ReadSnapshot(fixture.Decode(t, volumeSnapshot))
	expect.NoError(t, err)
	steps := restore.Plan([]restore.Record{s.Record()}, live(nil), restore.Options{BuiltIn: func(string) bool { return true }})
	expect.Equal(t, "steps", 1, len(steps))
	expect.Equal(t, "claim", fixture.Decode(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: shop
  labels: {app: db}
  annotations:
    sunset-k8s.io/hold: restored from a VolumeSnapshot
    sunset-k8s.io/restored-from: VolumeSnapshot/sunset-u-1
    sunset-k8s.io/restored-uid: u
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
  storageClassName: fast
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: sunset-u-1}
`), steps[0].Object.Object)
}
