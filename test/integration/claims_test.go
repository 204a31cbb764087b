// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

const unusedClaims = `
mode: Enforce
rules:
- name: claims
  target: {apiVersion: v1, kind: PersistentVolumeClaim}
  eligible: |
    references.count == 0 && object.?status.conditions.orValue([]).all(c, c.type != 'Unused' || c.status == 'True')
  ttl: 1s
`

// unused says when the condition Unused of a claim has changed. Kubernetes keeps that (KEP-5541).
func (w *env) unused(claim *corev1.PersistentVolumeClaim, since time.Time) {
	w.Helper()
	before := claim.DeepCopy()
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Unused", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	expect.NoError(w, w.Client.Status().Patch(w.Context(), claim, client.MergeFrom(before)))
}

// claimed creates a claim that no controller binds.
func (w *env) claimed(name string) *corev1.PersistentVolumeClaim {
	w.Helper()
	w.createAll([]string{`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ` + name + `, namespace: ` + w.namespace + `},
  spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}}`})
	claim := &corev1.PersistentVolumeClaim{}
	expect.NoError(w, w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, claim))
	return claim
}

// TestClaimWaitsForItsConditionUnused: the time to live starts no earlier than the last change of the condition. A claim whose condition
// has changed before is deleted.
func TestClaimWaitsForItsConditionUnused(t *testing.T) {
	w := newEnv(t)
	before, later := w.claimed("before"), w.claimed("later")
	hour := time.Now().Add(time.Hour)
	w.unused(before, time.Now().Add(-time.Hour))
	w.unused(later, hour)
	w.sunset(allowClaims)
	w.policy("claims", unusedClaims)
	w.gone(before)
	w.stays(5*time.Second, later)
}

// TestMarkMovesToALaterConditionUnused: then the time of the condition counts also after the condition is gone. A mark is never far ahead,
// so this one moves later, although the claim does not change again.
func TestMarkMovesToALaterConditionUnused(t *testing.T) {
	w := newEnv(t)
	claim := w.claimed("data")
	w.sunset(allowClaims)
	w.policy("claims", strings.ReplaceAll(unusedClaims, "ttl: 1s", "ttl: 1h"))
	later := w.mark(claim).Add(35 * time.Second)
	w.unused(claim, later)
	cluster.Eventually(t, patience, func() error {
		at := w.mark(claim)
		return cluster.Want(at.Equal(later), "the mark is from %s, the condition from %s", at, later)
	})
}

// TestExplainReadsTheReclaimPolicy of the volume of a claim, and says so if the user may not.
func TestExplainReadsTheReclaimPolicy(t *testing.T) {
	w := newEnv(t)
	w.createAll([]string{`{apiVersion: v1, kind: PersistentVolume, metadata: {name: ` + w.namespace + `},
  spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, storageClassName: none, persistentVolumeReclaimPolicy: Retain,
    hostPath: {path: /none}, claimRef: {namespace: ` + w.namespace + `, name: data}}}`})
	s := &storage{env: w}
	w.claimed("data")
	s.bound("data")
	w.policy("claims", unusedClaims)
	w.explainsClaim(w.plane.Config(), "data", "its persistentVolumeReclaimPolicy is Retain")

	user := "reader-" + w.namespace
	config, err := w.plane.UserConfig(user)
	expect.NoError(t, err)
	w.grant(user, "read", rbacv1.PolicyRule{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims", "namespaces"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list"}}) // for references
	w.explainsClaim(config, "data", "cannot read it: persistentvolumes", "is forbidden")
}

// explainsClaim requires texts in the output of "sunset explain" for a claim.
func (w *env) explainsClaim(config *rest.Config, name string, texts ...string) {
	w.Helper()
	out, err := w.commandLine(config, "--allow-kinds=PersistentVolumeClaim")("explain", "pvc/"+name, "-n", w.namespace)
	if missing := contains(strings.Join(strings.Fields(out), " "), texts...); err != nil || missing != nil {
		w.Errorf("explain %s: %v, %v", name, err, missing)
	}
}
