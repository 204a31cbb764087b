// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// another returns a policy that deletes, with another name than p.
func another() *policy.Policy {
	r := rule("a")
	p := policyOf(v1alpha1.Enforce, r)
	p.Name, p.UID = "another", "uid-another"
	r.ID.Policy, r.PolicyUID = p.Name, p.UID
	return p
}

// TestPolicyThatIsNotInForceYetIsNotListed: while objects are not decided about by an edited policy, its kind seems to lack its facts.
// Its status waits. That of an unchanged policy does not wait.
func TestPolicyThatIsNotInForceYetIsNotListed(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		p, unchanged := policyOf(v1alpha1.Enforce, rule("a")), another()
		w.store(p, noStatus)
		w.store(unchanged, noStatus)
		e := compiledOf(p, unchanged)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, w.began)} })
		w.Use(e)
		bubble.Pass(time.Minute)
		edited := policyOf(v1alpha1.Enforce, rule("a"))
		edited.Generation++
		next := compiledOf(edited, unchanged)
		w.Reporter.Use(next)
		w.removed(1, unchanged.Rules[0])
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "deleted by the unchanged policy", 1, w.statusOf(unchanged.Name).Deleted)
		expect.Equal(t, "Ready of the unchanged policy", "True Ready", condition(w.statusOf(unchanged.Name), v1alpha1.ConditionReady))
		expect.Equal(t, "generation in status", p.Generation, w.status().ObservedGeneration)
		w.Use(next)
		bubble.Pass(5 * time.Second)
		expect.Equal(t, "generation in status", edited.Generation, w.status().ObservedGeneration)
		expect.Equal(t, "Ready", "True Ready", condition(w.status(), v1alpha1.ConditionReady))
	})
}

// TestCountThatMixesSnapshotsIsNoPreview: a dry run must be counted again, but the objects are still decided about by the earlier snapshot,
// in which it is the same. If that count were a preview, the policy could delete what was not counted.
func TestCountThatMixesSnapshotsIsNoPreview(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *harness) {
		p := policyOf(v1alpha1.DryRun, rule("a"))
		e := w.create(p, noStatus)
		w.set(func() { w.kinds = []retention.KindState{kindOf(e, w.began, row("x", w.began))} })
		bubble.Pass(time.Minute)
		counts := len(w.previewed)
		next := compiledOf(p)
		next.Outdated = map[types.UID]time.Time{p.UID: time.Now()}
		w.Reporter.Use(next)
		bubble.Pass(time.Minute)
		expect.Equal(t, "counts by the earlier snapshot", counts, len(w.previewed))
		w.Use(next)
		bubble.Pass(20 * time.Second)
		expect.Equal(t, "counted by the next snapshot", true, len(w.previewed) > counts)
	})
}
