// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
	"github.com/sunset-k8s/sunset/policy/audit"
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
		ready    bool
	}{
		"as it was":                             {"", "", "1Gi", true},
		"a larger snapshot":                     {`restoreSize: "1Gi"`, `restoreSize: "1536Mi"`, "1536Mi", true},
		"a smaller snapshot":                    {`restoreSize: "1Gi"`, `restoreSize: "1"`, "1Gi", true},
		"the driver does not say the size":      {`, restoreSize: "1Gi"`, "", "1Gi", true},
		"not ready":                             {"readyToUse: true", "readyToUse: false", "1Gi", false},
		"a manifest of another claim":           {`"name":"data"`, `"name":"other"`, "", false},
		"a manifest of another namespace":       {`"namespace":"shop"`, `"namespace":"other"`, "", false},
		"a manifest of another kind":            {`"kind":"PersistentVolumeClaim"`, `"kind":"Secret"`, "", false},
		"a manifest that cannot be read":        {`{"apiVersion":"v1"`, `{`, "", false},
		"a VolumeSnapshot that a user has made": {"sunset-k8s.io/claim:", "other:", "", false},
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
			expect.Equal(t, "ready", test.ready, s.Ready)
		})
	}
}

// TestPlanOfAClaim: the claim comes back with its snapshot as the data source, a hold, and what it was restored from.
func TestPlanOfAClaim(t *testing.T) {
	s, err := restore.ReadSnapshot(fixture.Decode(t, volumeSnapshot))
	expect.NoError(t, err)
	steps := restore.Plan([]restore.Record{s.Record()}, func(audit.Object) types.UID { return "" }, restore.Options{BuiltIn: func(string) bool { return true }})
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
