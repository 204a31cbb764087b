// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

var createsApprovals = rbacv1.PolicyRule{APIGroups: []string{"sunset-k8s.io"}, Resources: []string{"retentionapprovals"}, Verbs: []string{"create", "patch"}}

// shows writes status.pendingApproval of a policy, as the controller would.
func (w *env) shows(p *unstructured.Unstructured, pending v1alpha1.PendingApproval) {
	w.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pending)
	expect.NoError(w, err)
	expect.NoError(w, unstructured.SetNestedMap(p.Object, fields, "status", "pendingApproval"))
	expect.NoError(w, w.Status().Update(w.Context(), p))
}

// approvalOf is an approval of what a policy shows.
func approvalOf(p *unstructured.Unstructured, pending v1alpha1.PendingApproval) (client.Object, *v1alpha1.ApprovalSpec) {
	spec := v1alpha1.ApprovalSpec{
		Policy: v1alpha1.ApprovedPolicy{Name: p.GetName(), UID: p.GetUID()}, Hash: pending.Hash, Objects: pending.Due.Week,
		Rules: pending.Rules, Namespaces: pending.Namespaces,
	}
	meta := metav1.ObjectMeta{Namespace: p.GetNamespace(), Name: p.GetName() + "-" + pending.Hash}
	if p.GetNamespace() == "" {
		a := &v1alpha1.ClusterRetentionApproval{ObjectMeta: meta, Spec: spec}
		return a, &a.Spec
	}
	a := &v1alpha1.RetentionApproval{ObjectMeta: meta, Spec: spec}
	return a, &a.Spec
}

func TestApprovalsAreOfWhatTheStatusShows(t *testing.T) {
	w := newEnv(t)
	w.serverless()
	pending := v1alpha1.PendingApproval{Hash: "0123456789abcdef0123456789abcdef", Due: v1alpha1.ApprovalCounts{Now: 3, Week: 30}, Matched: 40, Namespaces: []string{"a", "b"}}
	ofCluster, own, idle := w.clusterPolicy("previews", everyFieldOfCluster), w.own("previews", everyField), w.own("idle", everyField)
	for _, p := range []*unstructured.Unstructured{ofCluster, own, idle} {
		w.temporary(p)
	}
	w.shows(ofCluster, pending)
	w.shows(own, pending)
	for name, test := range map[string]struct {
		change func(*v1alpha1.ApprovalSpec)
		want   string
	}{
		"another hash":          {func(s *v1alpha1.ApprovalSpec) { s.Hash = "fedcba9876543210fedcba9876543210" }, "now shows hash 0123456789abcdef0123456789abcdef"},
		"another UID":           {func(s *v1alpha1.ApprovalSpec) { s.Policy.UID = "other" }, "the approval is for another policy"},
		"another name":          {func(s *v1alpha1.ApprovalSpec) { s.Policy.Name = "ghost" }, "the approval is for another policy"},
		"fewer objects":         {func(s *v1alpha1.ApprovalSpec) { s.Objects = 29 }, "now shows 30 objects"},
		"other namespaces":      {func(s *v1alpha1.ApprovalSpec) { s.Namespaces = nil }, "must be those of status.pendingApproval"},
		"some rules":            {func(s *v1alpha1.ApprovalSpec) { s.Rules = []string{"all"} }, "must be those of status.pendingApproval"},
		"by someone else":       {func(s *v1alpha1.ApprovalSpec) { s.ApprovedBy = "someone" }, "approvedBy must be"},
		"a hash in upper case":  {func(s *v1alpha1.ApprovalSpec) { s.Hash = "0123456789ABCDEF" }, "spec.hash"},
		"more objects":          {func(s *v1alpha1.ApprovalSpec) { s.Objects = 31 }, ""},
		"exactly what is shown": {func(*v1alpha1.ApprovalSpec) {}, ""},
		"with an end":           {func(s *v1alpha1.ApprovalSpec) { s.ExpirationTime = &metav1.Time{Time: time.Now().Add(time.Hour)} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []*unstructured.Unstructured{ofCluster, own} {
				cluster.Eventually(t, patience, func() error { // the admission policies learn of the status after a while
					a, spec := approvalOf(p, pending)
					test.change(spec)
					err := w.Create(t.Context(), a, client.DryRunAll)
					if test.want == "" {
						return err
					}
					return refused(err, test.want)
				})
			}
		})
	}
	misspelt := &unstructured.Unstructured{}
	a, _ := approvalOf(own, pending)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	expect.NoError(t, err)
	misspelt.Object = fields
	misspelt.SetGroupVersionKind(v1alpha1.RetentionApprovalKind)
	expect.NoError(t, unstructured.SetNestedField(misspelt.Object, "2026-03-01T00:00:00Z", "spec", "expirationtime"))
	if err := refused(w.Create(t.Context(), misspelt, client.DryRunAll), "unknown field: expirationtime"); err != nil {
		t.Error(err)
	}
	a, _ = approvalOf(idle, pending)
	if err := refused(w.Create(t.Context(), a, client.DryRunAll), "policy idle does not wait for approval"); err != nil {
		t.Error(err)
	}
	a, spec := approvalOf(own, pending)
	w.create(a)
	spec.Objects++
	if err := refused(w.Update(t.Context(), a), "an approval cannot be changed"); err != nil {
		t.Error(err)
	}
}

const everyFieldOfCluster = "mode: DryRun\nrules: [{name: all, target: {apiVersion: v1, kind: ConfigMap}, ttl: 1h, startTime: object.metadata.creationTimestamp}]\n"

// TestBacklogCountIsRaisedOnlyByApprovers: a user who may write policies, but not approvals, can lower it.
func TestBacklogCountIsRaisedOnlyByApprovers(t *testing.T) {
	w := newEnv(t)
	w.serverless()
	author, approver := w.tenant("author", writesPolicies, makesPods), w.tenant("approver", writesPolicies, makesPods, createsApprovals)
	p := w.own("p", ownRules)
	w.create(p)
	raises, lowers := edit(`{"spec":{"approval":{"maxObjects":101}}}`), edit(`{"spec":{"approval":{"maxObjects":99}}}`)
	cluster.Eventually(t, patience, func() error {
		return refused(author.Patch(t.Context(), p.DeepCopy(), raises, client.DryRunAll), "it needs permission to create retentionapprovals")
	})
	for name, err := range map[string]error{
		"author lowers":   author.Patch(t.Context(), p.DeepCopy(), lowers),
		"approver raises": approver.Patch(t.Context(), p.DeepCopy(), raises),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
