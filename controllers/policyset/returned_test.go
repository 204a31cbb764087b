// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// elsewhere returns the spec with a selector for other namespaces.
func elsewhere(spec string) string {
	return strings.Replace(spec, "rules:", "namespaceSelector: {matchLabels: {tier: prod}}, rules:", 1)
}

// heldWith returns a reconciler with policy p, which was counted while team-a was on hold.
func heldWith(t *testing.T, spec string) *harness {
	t.Helper()
	l := holding(t, spec)
	l.counted("p")
	return l
}

// become edits policy p.
func (l *harness) become(spec string) {
	l.t.Helper()
	l.policy("p", spec)
	l.refresh()
}

// approved creates an approval of policy p, and waits until it is in force.
func (l *harness) approved(hash string) {
	l.t.Helper()
	l.approve("p", hash)
	l.readLive()
}

// readLive updates the cache, and reconciles until a live read confirms what the cache lacks or has in addition.
func (l *harness) readLive() {
	l.t.Helper()
	l.sync()
	if l.reconcile().RequeueAfter == preflight.MaxAge { // the last live read was less than a second ago
		l.later(preflight.MaxAge + 1)
		l.reconcile()
	}
}

// unhold removes the hold of team-a.
func (l *harness) unhold() {
	l.t.Helper()
	l.hold("team-a", "")
	l.refresh()
}

// shown writes to the status that a version was counted now.
func (l *harness) shown(p *policy.Policy) {
	l.report("p", v1alpha1.RetentionPolicyStatus{ObservedGeneration: p.Generation, Previews: []v1alpha1.Preview{{Hash: p.Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}}}})
}

// TestCountOfOneFormReleasesNothingOfAnother: objects that wait in the current version are not counted for the earlier
// version.
func TestCountOfOneFormReleasesNothingOfAnother(t *testing.T) {
	for name, modes := range map[string][]string{"enforced": {"Enforce", "Enforce"}, "as a dry run": {"DryRun", "DryRun"}, "a dry run that is enforced": {"DryRun", "Enforce"}} {
		t.Run(name, func(t *testing.T) {
			l := heldWith(t, spec(modes[0], "1h"))
			l.unhold()
			l.later(time.Minute)
			l.shown(l.named("p")) // although team-a waits
			l.become(elsewhere(spec(modes[1], "1h")))
			l.counted("p") // everything
			l.counted("p") // the namespaces with changes
			l.become(spec("Enforce", "1h"))
			expect.Equal(t, "waiting", waits, l.waiting("team-a"))
		})
	}
}

// TestFormIsCountedOnceAfterManyEdits: the status keeps earlier versions.
func TestFormIsCountedOnceAfterManyEdits(t *testing.T) {
	l := oneEnforced(t)
	var previews []v1alpha1.Preview
	for _, ttl := range []string{"1h", "2h", "3h"} {
		l.become(spec("Enforce", ttl))
		l.counted("p")
		previews = append(previews, v1alpha1.Preview{Hash: l.named("p").Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}})
		l.report("p", v1alpha1.RetentionPolicyStatus{Previews: previews})
	}
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

// TestEarlierApprovalDoesNotCountForAFormThatReturns: the rules that kept its objects at the time of the approval may no
// longer exist. The gate has another hash, so that you can approve it.
func TestEarlierApprovalDoesNotCountForAFormThatReturns(t *testing.T) {
	for name, test := range map[string]struct {
		spec     string
		meantime func(l *harness)
		restart  bool // instead of observing the return
		want     []string
	}{
		"nothing has changed":                            {spec("Enforce", "1h"), func(*harness) {}, false, free},
		"a hold is removed":                              {spec("Enforce", "1h"), (*harness).unhold, false, waits},
		"a hold is removed, approval is always required": {askingAlways("Enforce", "1h"), (*harness).unhold, false, waits},
		"a hold is removed, and a restart":               {spec("Enforce", "1h"), (*harness).unhold, true, waits},
	} {
		t.Run(name, func(t *testing.T) {
			l := heldWith(t, spec("DryRun", "400d"))
			l.become(test.spec)
			first := l.named("p").ApprovalHash()
			l.approved(first)
			l.counted("p")
			l.become(elsewhere(test.spec))
			l.counted("p")
			l.shown(l.named("p"))
			test.meantime(l)
			l.policy("p", test.spec)
			if test.restart {
				l = l.restart()
			}
			l.refresh()
			expect.Equal(t, "waiting", test.want, l.waiting("team-a"))
			gate := l.named("p").Gate
			if gate == nil {
				return
			}
			if gate.Hash == first {
				t.Error("an approval already has the hash")
			}
			l.approved(gate.Hash)
			expect.Equal(t, "waiting once it is approved again", free, l.waiting("team-a"))
		})
	}
}

// TestLateCountOfAFormThatReturns does not release it: a change in between did not concern the objects that the policy
// selected then.
func TestLateCountOfAFormThatReturns(t *testing.T) {
	l := heldWith(t, spec("DryRun", "400d"))
	l.become(spec("Enforce", "1h"))
	late := l.named("p")
	count := policyset.Count{Policy: late.UID, Generation: late.Generation, Preview: v1alpha1.Preview{Hash: late.Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}}, Gate: late.Gate}
	l.become(elsewhere(spec("Enforce", "1h")))
	l.unhold()
	l.become(spec("Enforce", "1h"))
	l.Previewed(count)
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.counted("p")
	expect.Equal(t, "waiting once it is counted", free, l.waiting("team-a"))
}

// TestLateCountOfADryRunThatIsEnforced counts, because the version is the same.
func TestLateCountOfADryRunThatIsEnforced(t *testing.T) {
	l := withPolicy(t, spec("DryRun", "1h"))
	p := l.named("p")
	l.become(spec("Enforce", "1h"))
	l.Previewed(policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: v1alpha1.Preview{Hash: p.Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}}, Gate: l.named("p").Gate})
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

// TestRestartLeavesSingleRulesWaitingAlone, also for a policy with rules about images, which is not counted again otherwise.
func TestRestartLeavesSingleRulesWaitingAlone(t *testing.T) {
	images := two + "- {name: images, target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}, eligible: 'true', ttl: 24h}\n"
	for name, spec := range map[string]string{"objects": two, "objects and images": images} {
		t.Run(name, func(t *testing.T) {
			l := withPolicy(t, spec)
			l.counted("p", "other")
			p := l.named("p")
			l.report("p", v1alpha1.RetentionPolicyStatus{
				Previews:        []v1alpha1.Preview{{Hash: p.Hash, Uncounted: []string{"other"}}},
				Enforced:        &v1alpha1.EnforcedCount{Hash: p.Hash, ObservedTime: metav1.Time{Time: l.clock.Now().Truncate(time.Second)}},
				PendingApproval: &v1alpha1.PendingApproval{Hash: "other", Due: v1alpha1.ApprovalCounts{Now: 9, Week: 9}, Rules: []string{"other"}, SinceTime: &metav1.MicroTime{Time: l.clock.Now()}},
			})
			l = l.restart()
			if gate := l.named("p").Gate; gate != nil && gate.Recount != nil {
				l.counted("p", "other")
			}
			expect.Equal(t, "waiting", []string{"p/other"}, slices.DeleteFunc(l.waiting("team-a"), func(rule string) bool { return rule == "p/images" }))
			expect.Equal(t, "gate", p.Gate, l.named("p").Gate)
		})
	}
}

// TestDryRunIsComparedWithItsLastCount, not with the state before an earlier change.
func TestDryRunIsComparedWithItsLastCount(t *testing.T) {
	s := newServer()
	s.hold("team-b", "true")
	s.policy("p", spec("DryRun", "1h"))
	l := newHarness(t, s)
	l.hold("team-a", "true")
	l.hold("team-b", "")
	l.refresh()
	l.counted("p") // this shows nothing of team-a
	l.later(time.Minute)
	l.unhold()
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	expect.Equal(t, "counted", int64(30), old(30).count(l, "p").Week)
}
