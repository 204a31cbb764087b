// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// oldImages is a policy about images and Jobs.
const oldImages = `
mode: Enforce
approval: {maxObjects: 3, maxPercent: 100}
rules:
- name: old
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: "!object.status.inUse"
  startTime: object.status.lastUsed
  ttl: 30d
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: "false"
  startTime: object.metadata.creationTimestamp
  ttl: 1h
`

// node creates a node with an agent.
func (w *env) node(name string) *corev1.Node {
	w.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name}}
	w.temporary(n)
	return n
}

// report writes the report of an agent on a node.
func (w *env) report(n *corev1.Node, policies ...v1alpha1.NodeImagePolicyReport) *v1alpha1.NodeImageReport {
	w.Helper()
	r := &v1alpha1.NodeImageReport{}
	err := w.Get(w.Context(), client.ObjectKeyFromObject(n), r)
	r.ObservedTime, r.Policies = metav1.Now(), policies
	switch {
	case apierrors.IsNotFound(err):
		r.Name = n.Name
		r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}}
		w.temporary(r)
	case err != nil:
		w.Fatal(err)
	default:
		expect.NoError(w, w.Update(w.Context(), r))
	}
	return r
}

// imagesOf is a node's report about a published policy: ten images, some of them due, one removed.
func imagesOf(p v1alpha1.NodeImagePolicy, due int64) v1alpha1.NodeImagePolicyReport {
	count := func(n int64) v1alpha1.ImageCount { return v1alpha1.ImageCount{Images: n, Bytes: n << 20} }
	all := v1alpha1.ImageDueCounts{Now: count(due), Hour: count(due), Day: count(due), Week: count(due)}
	return v1alpha1.NodeImagePolicyReport{
		Name: p.Name, UID: p.UID, Generation: p.Generation, Hash: p.Hash, Matched: 10, Eligible: due, Due: all, Removed: count(1),
		Rules: []v1alpha1.NodeImageRuleReport{{Name: "old", Matched: 10, Eligible: due, Due: all, Removed: count(1),
			Soonest: []v1alpha1.ImageSample{{Name: "registry/app:v1", ID: "sha256:1", DueTime: metav1.Now()}}}},
	}
}

// rulesOnNodes waits until the published rules contain a policy that satisfies want, and returns it.
func (w *env) rulesOnNodes(p *v1alpha1.ClusterRetentionPolicy, want func(v1alpha1.NodeImagePolicy) error) (found v1alpha1.NodeImagePolicy) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		rules := &v1alpha1.NodeImageRules{}
		if err := w.Get(w.Context(), client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, rules); err != nil {
			return err
		}
		for _, found = range rules.Policies {
			if found.Name == p.Name {
				return want(found)
			}
		}
		return fmt.Errorf("the published rules lack %s", p.Name)
	})
	return found
}

func generation(n int64) func(v1alpha1.NodeImagePolicy) error {
	return func(p v1alpha1.NodeImagePolicy) error {
		return cluster.Want(p.Generation == n, "generation %d", p.Generation)
	}
}

func waits(rules int) func(v1alpha1.NodeImagePolicy) error {
	return func(p v1alpha1.NodeImagePolicy) error {
		return cluster.Want(len(p.Unapproved) == rules, "unapproved: %v", p.Unapproved)
	}
}

// TestImagesAreDeletedByNodeAgents: the controller publishes the policies to agents, and adds up their reports in the status of
// the policies.
func TestImagesAreDeletedByNodeAgents(t *testing.T) {
	w := newEnv(t)
	a, b := w.node("a"), w.node("b")
	w.report(a)
	w.report(b)
	w.sunset()
	p := w.policy("images", oldImages)

	rendered := w.rulesOnNodes(p, waits(1))
	if len(rendered.Spec.Rules) != 1 || rendered.Spec.Rules[0].Name != "old" || rendered.Spec.Mode != v1alpha1.Enforce {
		t.Errorf("published: %+v", rendered.Spec)
	}
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if c := w.condition(s, v1alpha1.ConditionWatching); c.Reason != "Counting" || s.NodeImages == nil || s.NodeImages.StaleNodes != 2 {
			return errors.New("the status does not wait for the nodes")
		}
		return nil
	})
	w.report(a, imagesOf(rendered, 2))
	w.report(b, imagesOf(rendered, 2))
	w.pending(p, 4)
	w.rulesOnNodes(p, waits(1))
	w.report(b, imagesOf(rendered, 1))
	w.rulesOnNodes(p, waits(0))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		n := s.NodeImages
		rule := s.Rules[0]
		switch {
		case n == nil || n.Nodes != 2 || n.StaleNodes != 0 || n.Images != 20 || n.Due.Now.Images != 3 || n.Due.Now.Bytes != 3<<20 || n.Removed.Images != 2:
			return errors.New("the sum differs")
		case s.Matched != 20 || s.Eligible != 3 || s.Due.Now != 3 || s.Deleted != 2 || rule.Matched != 20 || rule.Deleted != 2:
			return errors.New("the numbers differ")
		case len(rule.Soonest) != 2 || rule.Soonest[0].Name != a.Name+": registry/app:v1" && rule.Soonest[0].Name != b.Name+": registry/app:v1":
			return errors.New("the samples differ")
		case w.condition(s, v1alpha1.ConditionReady).Status != "True" || s.PendingApproval != nil:
			return errors.New("not ready")
		}
		return nil
	})

	began := time.Now()
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = "60d" })
	w.rulesOnNodes(p, generation(2))
	if took := time.Since(began); took > time.Minute { // without the edit, the controller reads the rules every five minutes
		t.Errorf("the edit was published after %s", took)
	}
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.NodeImages.Nodes == 0 && s.NodeImages.StaleNodes == 2 && s.Deleted == 2, "a report about another form counts")
	})
	w.spoilt(p)

	expect.NoError(t, w.Delete(t.Context(), b))
	w.gone(&v1alpha1.NodeImageReport{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(s.NodeImages.StaleNodes == 1 && s.Deleted == 2, "the deleted node still counts, or its removals do not")
	})
	expect.NoError(t, w.Delete(t.Context(), p))
	cluster.Eventually(t, patience, func() error {
		rules := w.rules()
		return cluster.Want(len(rules.Policies)+len(rules.Known) == 0, "published policies: %v", rules.Policies)
	})
}

func (w *env) rules() *v1alpha1.NodeImageRules {
	w.Helper()
	rules := &v1alpha1.NodeImageRules{}
	expect.NoError(w, w.Get(w.Context(), client.ObjectKey{Name: v1alpha1.NodeImageRulesName}, rules))
	return rules
}

// spoilt edits the published rules, and checks that the controller restores them once and then writes nothing.
func (w *env) spoilt(p *v1alpha1.ClusterRetentionPolicy) {
	w.Helper()
	good := w.rules()
	for _, patch := range []string{
		`[{"op": "replace", "path": "/policies/0/spec/mode", "value": "Suspend"}]`,
		`[{"op": "add", "path": "/policies/0/spec/rules/0/images", "value": {"allowUnpullable": true}}]`,
		`[{"op": "add", "path": "/policies/0/spec/rules/0/unheardOf", "value": true}]`,
		`[{"op": "remove", "path": "/known"}]`,
	} {
		spoilt := &unstructured.Unstructured{}
		spoilt.SetGroupVersionKind(v1alpha1.NodeImageRulesKind)
		spoilt.SetName(v1alpha1.NodeImageRulesName)
		expect.NoError(w, w.Patch(w.Context(), spoilt, client.RawPatch("application/json-patch+json", []byte(patch))))
		cluster.Eventually(w, patience, func() error {
			now := w.rules()
			return cluster.Want(now.Generation > spoilt.GetGeneration(), "not restored after %s", patch)
		})
	}
	expect.NoError(w, w.Delete(w.Context(), good.DeepCopy()))
	w.rulesOnNodes(p, generation(2))
	mended := w.rules()
	if mended.UID == good.UID || fmt.Sprint(mended.Policies, mended.Known) != fmt.Sprint(good.Policies, good.Known) {
		w.Errorf("restored as %+v, was %+v", mended.Policies, good.Policies)
	}
	time.Sleep(3 * time.Second) // nothing may happen in this time
	if now := w.rules(); now.ResourceVersion != mended.ResourceVersion {
		w.Errorf("written again without a change")
	}
}
