// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// askingAlways returns a policy about Jobs that requires approval for each version.
func askingAlways(mode, ttl string) string {
	return strings.Replace(spec(mode, ttl), "{", "{approval: {requiredFor: AllChanges}, ", 1)
}

// TestApprovalOfADifferenceApprovesNothingElse: the approval of a change does not approve rules that were not counted. It does
// not approve a version that was never approved, even if approval becomes required for each version.
func TestApprovalOfADifferenceApprovesNothingElse(t *testing.T) {
	enforced := func(p *policy.Policy, s *server, uncounted ...string) v1alpha1.RetentionPolicyStatus {
		at := metav1.Time{Time: s.clock.Now().UTC().Truncate(time.Second)}
		return v1alpha1.RetentionPolicyStatus{
			ObservedGeneration: p.Generation,
			Previews:           []v1alpha1.Preview{{Hash: p.Hash, ObservedTime: at, Uncounted: uncounted}},
			Enforced:           &v1alpha1.EnforcedCount{Hash: p.Hash, ObservedTime: at},
		}
	}
	t.Run("of the first count of a new leader", func(t *testing.T) {
		l := withPolicy(t, two)
		l.report("p", enforced(l.named("p"), l.server, "other"))
		l = l.recounted("p", "other")
		expect.Equal(t, "waiting", []string{"p/other"}, l.waiting("team-a"))
		expect.Equal(t, "waiting after a restart", []string{"p/other"}, l.recounted("p", "other").waiting("team-a"))
	})
	t.Run("of the objects that a change adds to a dry run", func(t *testing.T) {
		l := holding(t, strings.Replace(two, "Enforce", "DryRun", 1))
		l.counted("p", "other")
		l.hold("team-a", "")
		l.become(two)
		l.approved(l.named("p").Gate.Hash)
		expect.Equal(t, "waiting", []string{"p/other"}, l.waiting("team-a"))
	})
	t.Run("of a namespace, while a rule cannot be counted", func(t *testing.T) {
		l := holding(t, two)
		l.counted("p")
		l.unhold()
		p := l.named("p")
		l.Previewed(policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: v1alpha1.Preview{Hash: p.Hash, Uncounted: []string{"other"}}})
		expect.Equal(t, "waiting", []string{"p/good", "p/other"}, l.waiting("team-a"))
		expect.Equal(t, "waiting in other namespaces", []string{"p/other"}, l.waiting("team-b"))
		l.approved(l.named("p").Gate.Hash)
		expect.Equal(t, "waiting once it is approved", []string{"p/other"}, l.waiting("team-a"))
	})
	t.Run("before approval is always required", func(t *testing.T) {
		l := oneEnforced(t)
		l.report("p", enforced(l.named("p"), l.server))
		l = l.recounted("p")
		expect.Equal(t, "waiting", free, l.waiting("team-a"))
		l.policy("p", askingAlways("Enforce", "1h"))
		l.approved(l.named("p").RecountHash(l.clock.Now().UTC().Truncate(time.Second)))
		expect.Equal(t, "waiting when approval is always required", waits, l.waiting("team-a"))
	})
	t.Run("while approval becomes always required", func(t *testing.T) {
		l := oneEnforced(t)
		status := enforced(l.named("p"), l.server)
		l.policy("p", askingAlways("Enforce", "1h"))
		l.report("p", status)
		l = l.recounted("p")
		expect.Equal(t, "waiting", waits, l.waiting("team-a"))
		expect.Equal(t, "hash to approve", l.named("p").ApprovalHash(), l.named("p").Gate.Hash)
	})
}

// TestApprovalOfAFormCountsForTheRulesThatWereCounted: the approved number did not include the other rules.
func TestApprovalOfAFormCountsForTheRulesThatWereCounted(t *testing.T) {
	l := withPolicy(t, two)
	l.approved(l.named("p").ApprovalHash())
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
	l.counted("p", "other")
	expect.Equal(t, "waiting once the others are counted", []string{"p/other"}, l.waiting("team-a"))
	if gate := l.named("p").Gate; gate.Hash == l.named("p").ApprovalHash() {
		t.Error("the earlier approval also approves this rule")
	}
	l.report("p", v1alpha1.RetentionPolicyStatus{Previews: []v1alpha1.Preview{{Hash: l.named("p").Hash, Uncounted: []string{"other"}}}})
	expect.Equal(t, "waiting after a restart", []string{"p/other"}, l.recounted("p", "other").waiting("team-a"))
	l.counted("p")
	expect.Equal(t, "waiting when it is counted too", free, l.waiting("team-a"))
}

// TestFormStaysApproved when a later change is approved, until the approval is withdrawn, and also across a restart.
func TestFormStaysApproved(t *testing.T) {
	l := holding(t, askingAlways("Enforce", "1h"))
	l.approved(l.named("p").ApprovalHash())
	l.unhold()
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.approved(l.named("p").Gate.Hash)
	expect.Equal(t, "waiting once it is approved", free, l.waiting("team-a"))
	p := l.named("p")
	l.report("p", v1alpha1.RetentionPolicyStatus{ObservedGeneration: p.Generation, Previews: []v1alpha1.Preview{{Hash: p.Hash}}})
	expect.Equal(t, "waiting after a restart", free, l.recounted("p").waiting("team-a"))
	l.become(askingAlways("Enforce", "2h"))
	expect.Equal(t, "waiting in another version", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting in another version after a restart", waits, l.restart().waiting("team-a"))
	expect.Equal(t, "hash to approve", l.named("p").ApprovalHash(), l.restart().named("p").Gate.Hash)
	l.policy("p", askingAlways("Enforce", "1h"))
	l.withdraw()
	l.refresh()
	expect.Equal(t, "waiting without the approval", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting without the approval after a restart", waits, l.restart().waiting("team-a"))
	expect.Equal(t, "hash to approve", l.named("p").ApprovalHash(), l.restart().named("p").Gate.Hash)
}

// TestApprovalOfNothingApprovesNothing: no status ever shows the hash of a change at the zero time.
func TestApprovalOfNothingApprovesNothing(t *testing.T) {
	l := oneEnforced(t)
	l.approved(l.named("p").RecountHash(time.Time{}))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
}

// TestStatusWithoutATimeStillMakesNamespacesWait: any user with permission to write statuses can have written it.
func TestStatusWithoutATimeStillMakesNamespacesWait(t *testing.T) {
	l := oneEnforced(t)
	p := l.named("p")
	l.report("p", v1alpha1.RetentionPolicyStatus{
		ObservedGeneration: p.Generation, Previews: []v1alpha1.Preview{{Hash: p.Hash}},
		PendingApproval: &v1alpha1.PendingApproval{Hash: "any", Namespaces: []string{"team-a"}},
	})
	l = l.recounted("p")
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting in other namespaces", free, l.waiting("team-b"))
}

// TestCountOfAnotherFormIsNoPreview: when the policy has that version again, the rules that kept its objects may no longer
// exist.
func TestCountOfAnotherFormIsNoPreview(t *testing.T) {
	l := oneEnforced(t)
	first := l.named("p")
	l.become(spec("Enforce", "400d"))
	l.counted("p")
	l.Previewed(policyset.Count{Policy: first.UID, Generation: first.Generation, Preview: v1alpha1.Preview{Hash: first.Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}}})
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
}

// TestEarlierFormIsCountedAgainAfterOtherChanges, even if the changes do not concern what the policy selected at the time,
// and if no leader observed them.
func TestEarlierFormIsCountedAgainAfterOtherChanges(t *testing.T) {
	ofPods := strings.Replace(spec("Enforce", "1h"), "{apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object)", "{apiVersion: v1, kind: Pod}, eligible: 'true', startTime: created(object)", 1)
	for name, test := range map[string]struct {
		change  func(l *harness)
		restart bool
		want    []string
	}{
		"nothing":                               {func(*harness) {}, false, free},
		"a policy that kept objects is deleted": {func(l *harness) { l.removePolicy("q") }, false, waits},
		"a hold is removed":                     {func(l *harness) { l.hold("team-a", "") }, false, waits},
		"a restart":                             {func(*harness) {}, true, waits},
		"a policy is deleted, a restart":        {func(l *harness) { l.removePolicy("q") }, true, waits},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.policy("p", spec("DryRun", "1h"))
			s.policy("q", spec("Suspend", "1h"))
			s.hold("team-a", "true")
			l := newHarness(t, s)
			l.later(time.Minute)
			l.counted("p")
			previews := []v1alpha1.Preview{{Hash: l.named("p").Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}}}
			l.become(ofPods)
			l.counted("p")
			previews = append(previews, v1alpha1.Preview{Hash: l.named("p").Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}})
			l.report("p", v1alpha1.RetentionPolicyStatus{Previews: previews})
			l.later(time.Minute)
			test.change(l)
			if test.restart {
				l = l.restart()
			}
			l.refresh()
			l.become(spec("Enforce", "1h"))
			expect.Equal(t, "waiting", test.want, slices.DeleteFunc(l.waiting("team-a"), func(rule string) bool { return rule != "p/jobs" }))
		})
	}
}

// TestApprovalCountsWhileSuspended: an approval that is given while the policy is suspended counts until the policy has another
// version.
func TestApprovalCountsWhileSuspended(t *testing.T) {
	for name, test := range map[string]struct {
		between []string
		want    []string
	}{
		"while it is suspended":        {[]string{spec("Suspend", "1h")}, free},
		"after it had another version": {[]string{elsewhere(spec("Enforce", "1h")), spec("Enforce", "1h")}, waits},
		"while it has another version": {[]string{elsewhere(spec("Enforce", "1h"))}, waits},
	} {
		t.Run(name, func(t *testing.T) {
			l := heldWith(t, spec("DryRun", "1h"))
			l.unhold()
			l.become(spec("Enforce", "1h"))
			hash := l.named("p").Gate.Hash
			for _, spec := range test.between {
				l.become(spec)
			}
			l.approved(hash)
			l.become(spec("Enforce", "1h"))
			expect.Equal(t, "waiting", test.want, l.waiting("team-a"))
			if gate := l.named("p").Gate; gate != nil && gate.Hash == hash {
				t.Error("an approval already has the hash")
			}
		})
	}
}
