// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/manager"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/volumes"
)

// storage is a StorageClass and a VolumeSnapshotClass of a driver whose volumes are directories.
type storage struct {
	*env
	driver *volumes.Driver
	class  string // of both
}

// storage starts the driver and the components of kubernetes-csi until the test ends.
func (w *env) storage() *storage {
	w.Helper()
	driver, err := w.plane.StartVolumes(w.Context())
	expect.NoError(w, err)
	w.Cleanup(func() {
		driver.Fail(nil)
		driver.Hold(false)
		if err := w.plane.KillVolumes(); err != nil {
			w.Error(err)
		}
	})
	w.createAll([]string{
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: " + w.namespace + "}, provisioner: " + volumes.Name + ", reclaimPolicy: Delete}",
		"{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotClass, metadata: {name: " + w.namespace + "}, driver: " + volumes.Name + ", deletionPolicy: Delete}",
	})
	return &storage{w, driver, w.namespace}
}

// claim creates a claim, and waits until it is bound.
func (s *storage) claim(name string) *corev1.PersistentVolumeClaim {
	s.Helper()
	s.createAll([]string{`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ` + name + `, namespace: ` + s.namespace + `, labels: {app: db}},
  spec: {accessModes: [ReadWriteOnce], storageClassName: ` + s.class + `, resources: {requests: {storage: 1Gi}}}}`})
	return s.bound(name)
}

func (s *storage) bound(name string) *corev1.PersistentVolumeClaim {
	s.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	cluster.Eventually(s, patience, func() error {
		if err := s.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, claim); err != nil {
			return err
		}
		return cluster.Want(claim.Status.Phase == corev1.ClaimBound, "claim %s is %s", name, claim.Status.Phase)
	})
	return claim
}

// file is a file in the volume of a claim.
func (s *storage) file(claim *corev1.PersistentVolumeClaim) string {
	s.Helper()
	volume := &corev1.PersistentVolume{}
	expect.NoError(s, s.Get(s.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, volume))
	return filepath.Join(s.driver.Volume(volume.Spec.CSI.VolumeHandle), "file")
}

// snapshots returns the VolumeSnapshots of the namespace.
func (s *storage) snapshots() []unstructured.Unstructured {
	s.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(policy.VolumeSnapshotKind)
	expect.NoError(s, s.List(s.Context(), list, client.InNamespace(s.namespace)))
	return list.Items
}

// delayed waits until a policy is delayed for this reason, with this part of the message.
func (w *env) delayed(p *v1alpha1.ClusterRetentionPolicy, reason, message string) {
	w.Helper()
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionDelayed)
		if c.Status != metav1.ConditionTrue || c.Reason != reason {
			return errors.New("not delayed with reason " + reason)
		}
		return contains(c.Message, message)
	})
}

const claimsWithSnapshot = `
mode: Enforce
rules:
- name: claims
  target: {apiVersion: v1, kind: PersistentVolumeClaim}
  eligible: references.count == 0
  ttl: 1s
  snapshot: {className: CLASS, retain: 1h}
- name: snapshots
  target: {apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot}
  eligible: object.metadata.?labels[?'sunset-k8s.io/claim-uid'].hasValue()
  startTime: object.metadata.?annotations[?'sunset-k8s.io/delete-after']
  ttl: 0s
`

func allowClaims(c *manager.Config) { c.Protection = c.Protection.Allow("PersistentVolumeClaim") }

// TestClaimIsDeletedAfterItsSnapshot: with the real snapshot controller and CSI sidecars, a claim stays while its snapshot fails or is
// not ready, also if another controller takes over. Then the claim and its volume are deleted, and a restored claim has the data.
func TestClaimIsDeletedAfterItsSnapshot(t *testing.T) {
	w := newEnv(t)
	s := w.storage()
	first := s.claim("first")
	s.driver.Fail(errors.New("no space is left"))
	stop := w.sunset(allowClaims)
	p := w.policy("claims", strings.ReplaceAll(claimsWithSnapshot, "CLASS", s.class))
	w.delayed(p, "SnapshotFailed", "no space is left")
	w.stays(time.Second, first)
	s.driver.Fail(nil)
	w.gone(first)
	for _, made := range s.snapshots() {
		expect.NoError(t, w.Client.Delete(t.Context(), &made))
		w.gone(&made)
	}

	s.driver.Hold(true)
	claim := s.claim("data")
	expect.NoError(t, os.WriteFile(s.file(claim), []byte("text"), 0o600))
	w.delayed(p, "SnapshotPending", "is not ready to use yet")
	made := s.snapshots()
	expect.Equal(t, "snapshots", 1, len(made))
	w.event(w.namespace, "PersistentVolumeClaim", claim.Name, "VolumeSnapshot "+made[0].GetName()+" created by rule "+p.Name+"/claims")
	stop()
	w.sunset(allowClaims)
	cluster.Eventually(t, patience, func() error { // a Pod may have used the claim while no controller looked
		return cluster.Want(len(s.snapshots()) == 2, "the other controller has taken no snapshot")
	})
	w.delayed(p, "SnapshotPending", "is not ready to use yet")
	w.stays(3*time.Second, claim)
	var manifest corev1.PersistentVolumeClaim
	expect.NoError(t, json.Unmarshal([]byte(made[0].GetAnnotations()[v1alpha1.SnapshotClaimAnnotation]), &manifest))
	expect.Equal(t, "UID in the manifest", claim.UID, manifest.UID)
	expect.Equal(t, "labels in the manifest", claim.Labels, manifest.Labels)

	before := s.file(claim)
	s.driver.Hold(false)
	w.gone(claim)
	cluster.Eventually(t, patience, func() error {
		_, err := os.Stat(before)
		return cluster.Want(errors.Is(err, os.ErrNotExist), "the volume of the deleted claim is still there: %v", err)
	})
	expect.Equal(t, "snapshots of the deleted claim", 2, len(s.snapshots()))

	expect.NoError(t, contains(w.plugin("restore", "pvc/data", "-n", w.namespace), "would be restored"))
	w.gone(claim) // that was a dry run
	t.Log(w.plugin("restore", "pvc/data", "-n", w.namespace, "--yes"))
	restored := s.bound("data")
	data, err := os.ReadFile(s.file(restored))
	if err != nil || string(data) != "text" {
		t.Errorf("the restored volume has %q: %v", data, err)
	}
	expect.Equal(t, "hold", "restored from a VolumeSnapshot", restored.Annotations[v1alpha1.HoldAnnotation])
	w.stays(3*time.Second, restored)

	made[0].SetResourceVersion("")
	w.setAnnotation(&made[0], v1alpha1.DeleteAfterAnnotation, `"`+time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)+`"`)
	w.gone(&made[0])
}

// TestClaimStaysWithoutPermissionForSnapshots: with all other permissions, the claim stays and the condition says why, until the
// permission is granted that kubectl sunset rbac prints. Other rules go on.
func TestClaimStaysWithoutPermissionForSnapshots(t *testing.T) {
	w := newEnv(t)
	s := w.storage()
	claim := s.claim("data")
	user := "sunset-" + w.namespace
	config, err := w.plane.UserConfig(user)
	expect.NoError(t, err)
	w.grant(user, "core", core...)
	w.grant(user, "kinds", onConfigMaps("list", "watch", "delete"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"list", "watch", "get", "patch", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list", "watch"}}) // for references
	w.sunset(allowClaims, func(c *manager.Config) { c.Rest = config })
	p := w.policy("claims", strings.ReplaceAll(`
mode: Enforce
rules:
- name: claims
  target: {apiVersion: v1, kind: PersistentVolumeClaim}
  eligible: references.count == 0
  ttl: 1s
  snapshot: {className: CLASS}
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`, "CLASS", s.class))
	w.delayed(p, "SnapshotUnavailable", "volumesnapshots")
	cm := w.configMap("settings", preview)
	w.gone(cm)
	w.stays(time.Second, claim)
	w.grant(user, "snapshots", rbacv1.PolicyRule{APIGroups: []string{"snapshot.storage.k8s.io"}, Resources: []string{"volumesnapshots"}, Verbs: []string{"get", "create"}})
	w.gone(claim)
	expect.Equal(t, "snapshots", 1, len(s.snapshots()))
}
