// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// defaultApproval is the default approval of policies.
const defaultApproval = "approval: {maxObjects: 100, maxPercent: 25}\n"

// cautious is previews with that approval.
func cautious(mode, ttl string) string { return fmt.Sprintf(previews, mode, ttl) + defaultApproval }

func (w *env) backlog(n int) (all []client.Object) {
	for i := range n {
		all = append(all, w.configMap(fmt.Sprint("cm-", i), preview))
	}
	return all
}

// pending waits until the policy requires an approval, and returns the hash of the form to approve.
func (w *env) pending(p *v1alpha1.ClusterRetentionPolicy, due int64) (hash string) {
	w.Helper()
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.PendingApproval == nil || s.PendingApproval.Due.Now != due {
			return errors.New("no approval is required, or the number of objects differs")
		}
		hash = s.PendingApproval.Hash
		c := w.condition(s, v1alpha1.ConditionApprovalRequired)
		if c.Status != "True" {
			return errors.New("the condition is missing")
		}
		return contains(c.Message, fmt.Sprintf("%d of %d object", due, s.PendingApproval.Matched), "would be deleted now", "kubectl sunset approve "+p.Name, hash)
	})
	return hash
}

func (w *env) approve(p *v1alpha1.ClusterRetentionPolicy, hash string) {
	w.Helper()
	a := fixture.Approval(p, hash)
	// The API server enforces admission policies for a moment after their deletion by another test.
	cluster.Eventually(w, patience, func() error { return w.Create(w.Context(), a.DeepCopyObject().(client.Object), client.DryRunAll) })
	w.temporary(a)
}

// TestApprovalIsNeededForLargeBacklog: a large backlog under new rules waits for an approval, also after a restart.
func TestApprovalIsNeededForLargeBacklog(t *testing.T) {
	w := newEnv(t)
	all := w.backlog(10)
	stop := w.sunset()
	p := w.policy("previews", cautious("Enforce", "0s"))
	hash := w.pending(p, 10)
	w.stays(time.Second, all...)
	stop()
	w.sunset()
	w.stays(2*time.Second, all...)
	w.approve(p, "0123456789abcdef0123456789abcdef")
	w.stays(time.Second, all...)
	w.approve(p, hash)
	w.left()
	// A steady number of due objects never requires an approval.
	w.backlog(12)
	w.left()
}

// TestPreviewNeedsNoApproval: neither a dry run nor the return to rules that a dry run has counted requires an approval.
func TestPreviewNeedsNoApproval(t *testing.T) {
	w := newEnv(t)
	w.backlog(10)
	w.sunset()
	p := w.policy("previews", cautious("DryRun", "0s"))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.Due.Now == 10 && len(s.Previews) == 1, "not previewed")
	})
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	w.left()
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = "1h" })
	w.sees(p, 3)
	all := w.backlog(11)
	w.stays(time.Second, all...)
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = "0s" }) // previewed before
	w.left()
}

// TestSmallBacklogNeedsNoApproval: a small backlog requires an approval only if the policy always requires one.
func TestSmallBacklogNeedsNoApproval(t *testing.T) {
	w := newEnv(t)
	w.backlog(9)
	w.sunset()
	p := w.policy("previews", cautious("Enforce", "0s"))
	w.left()
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Approval.RequiredFor = v1alpha1.ApprovalForAllChanges })
	w.pending(p, 0)
	all := w.backlog(1)
	hash := w.pending(p, 1)
	w.stays(time.Second, all...)
	w.approve(p, hash)
	w.left()
}

// TestApprovalIsNeededForAddedNamespaces: objects of a namespace that a new label selects wait for approval; objects of other
// namespaces do not.
func TestApprovalIsNeededForAddedNamespaces(t *testing.T) {
	w, other := newEnv(t), newEnv(t)
	w.labelNamespace("clean", w.namespace)
	all := other.backlog(10)
	w.sunset()
	p := w.policy("previews", cautious("Enforce", "0s")+fmt.Sprintf("namespaceSelector: {matchLabels: {clean: %s}}\n", w.namespace))
	w.gone(w.configMap("probe", preview))
	other.labelNamespace("clean", w.namespace)
	hash := w.pending(p, 10)
	w.gone(w.configMap("steady", preview))
	other.stays(time.Second, all...)
	w.approve(p, hash)
	other.left()
}
