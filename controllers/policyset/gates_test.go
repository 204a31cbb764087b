// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// counted reports to the reconciler that a policy was counted as it is and may act, except for uncounted rules.
func (l *harness) counted(name string, uncounted ...string) {
	l.t.Helper()
	p := l.named(name)
	c := policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: v1alpha1.Preview{Hash: p.Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}, Uncounted: uncounted}, Gate: p.Gate,
		Outdated: l.last().Outdated[p.UID]}
	if p.Gate != nil {
		c.Opened = p.Gate.Namespaces
	}
	l.Previewed(c)
}

// recounted starts a new process that counts a policy and finds no more due objects than the previous one.
func (l *harness) recounted(name string, uncounted ...string) *harness {
	l.t.Helper()
	l = l.restart()
	if gate := l.named(name).Gate; gate == nil || gate.Recount == nil {
		l.t.Fatalf("%s does not wait for its first count: %v", name, gate)
	}
	l.counted(name, uncounted...)
	return l
}

func TestPreviewedOpensManyGatesInOneSnapshot(t *testing.T) {
	s := newServer()
	var counts []policyset.Count
	for i := range 10 {
		s.policy(fmt.Sprint("p-", i), spec("Enforce", "1h"))
	}
	l := newHarness(t, s)
	for i := range 10 {
		p := l.named(fmt.Sprint("p-", i))
		counts = append(counts, policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: v1alpha1.Preview{Hash: p.Hash}, Gate: p.Gate})
	}
	before := len(l.published)
	l.Previewed(counts...)
	expect.Equal(t, "snapshots", 1, len(l.published)-before)
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

// running returns a reconciler with policy p, which is in force and counted. It applies to namespaces with tier=ci, among them
// team-a.
func running(t *testing.T) *harness {
	t.Helper()
	l := selecting(t)
	l.counted("p")
	return l
}

var waits, free = []string{"p/jobs"}, []string{}

func TestNewPolicyWaitsUntilItIsCounted(t *testing.T) {
	l := oneEnforced(t)
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting in other namespaces", waits, l.waiting("team-b"))
	expect.Equal(t, "hash of the gate", l.named("p").ApprovalHash(), l.named("p").Gate.Hash)
	l.counted("p")
	expect.Equal(t, "waiting once it is counted", free, l.waiting("team-a"))
	expect.Equal(t, "snapshots", 2, len(l.published))
	l.reconcile()
	l.allowed("team-a")
	expect.Equal(t, "snapshots after no change", 2, len(l.published))
}

func TestGateStaysClosed(t *testing.T) {
	tests := map[string]func(l *harness, p *policy.Policy){
		"a count of another version": func(l *harness, p *policy.Policy) {
			l.Previewed(policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: v1alpha1.Preview{Hash: "other"}, Gate: p.Gate})
		},
		"a count of another policy": func(l *harness, p *policy.Policy) {
			l.Previewed(policyset.Count{Policy: "other", Preview: v1alpha1.Preview{Hash: p.Hash}, Gate: p.Gate})
		},
		"approval of another version": func(l *harness, _ *policy.Policy) { l.approve("p", "other"); l.refresh() },
		"an edit of its mode": func(l *harness, _ *policy.Policy) {
			l.become(spec("DryRun", "1h"))
			l.policy("p", spec("Enforce", "1h"))
		},
		"a counted policy that is created again": func(l *harness, p *policy.Policy) {
			l.counted("p")
			l.removePolicy("p")
			l.policy("p", spec("Enforce", "1h"))
		},
		"a status that cannot be read": func(l *harness, _ *policy.Policy) {
			l.edit("p", func(p *unstructured.Unstructured) { p.Object["status"] = map[string]any{"previews": "all"} })
		},
	}
	for name, happens := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			happens(l, l.named("p"))
			l.refresh()
			expect.Equal(t, "waiting", waits, l.waiting("team-a"))
			expect.Equal(t, "waiting after a restart", waits, l.restart().waiting("team-a"))
		})
	}
}

// TestClusterPolicyGateKeepsEarlierSnapshot: each RetentionPolicy needs an earlier snapshot
// of its own.
func TestClusterPolicyGateKeepsEarlierSnapshot(t *testing.T) {
	l := oneEnforced(t)
	l.counted("p")
	l.later(time.Minute)
	l.become(spec("Enforce", "2h"))
	for i := range 20 {
		l.later(time.Minute)
		l.policy(fmt.Sprint("team-a/own-", i), ownRules("Enforce", "5m"))
		l.refresh()
	}
	known := 0
	for _, p := range l.snapshot().Policies() {
		if p.Gate.Before != nil {
			known++
		}
	}
	expect.Equal(t, "policies with an earlier snapshot", 16, known)
	expect.Equal(t, "p has an earlier snapshot", true, l.named("p").Gate.Before != nil)
}

func TestGateIsOnlyForEnforcedPolicies(t *testing.T) {
	for _, mode := range []string{"DryRun", "Suspend"} {
		t.Run(mode, func(t *testing.T) {
			l := withPolicy(t, spec(mode, "1h"))
			if gate := l.named("p").Gate; gate != nil {
				t.Errorf("a gate: %v", gate)
			}
			l.become(spec("Enforce", "1h"))
			expect.Equal(t, "waiting once it is enforced", waits, l.waiting("team-a"))
		})
	}
}

func TestDryRunThatWasCountedIsEnforcedAtOnce(t *testing.T) {
	l := withPolicy(t, spec("DryRun", "1h"))
	l.counted("p")
	expect.Equal(t, "snapshots: a dry run does not wait", 1, len(l.published))
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
}

// TestApprovalThatIsRequiredForAllChanges: neither a dry run nor a count replaces the approval, and each edit needs another one.
func TestApprovalThatIsRequiredForAllChanges(t *testing.T) {
	l := withPolicy(t, askingAlways("DryRun", "1h"))
	l.counted("p")
	l.become(askingAlways("Enforce", "1h"))
	expect.Equal(t, "waiting although a dry run was counted", waits, l.waiting("team-a"))
	l.counted("p")
	expect.Equal(t, "waiting although it was counted", waits, l.waiting("team-a"))
	l.approved(l.named("p").ApprovalHash())
	expect.Equal(t, "waiting once it is approved", free, l.waiting("team-a"))
	expect.Equal(t, "waiting after a restart", free, l.restart().waiting("team-a"))
	l.become(askingAlways("Enforce", "2h"))
	expect.Equal(t, "waiting after an edit", waits, l.waiting("team-a"))
	if gate := l.named("p").Gate; gate.Before != nil {
		t.Error("objects of the previous version are not counted")
	}
	l.become(spec("Enforce", "2h"))
	l.counted("p")
	expect.Equal(t, "waiting when it is required only for large changes", free, l.waiting("team-a"))
	l.become(askingAlways("Enforce", "2h"))
	expect.Equal(t, "waiting when it is always required again", waits, l.waiting("team-a"))
}

func TestFormThatTheStatusKnowsIsOpenAtOnce(t *testing.T) {
	l := oneEnforced(t)
	l.report("p", v1alpha1.RetentionPolicyStatus{Previews: []v1alpha1.Preview{{Hash: "other"}, {Hash: l.named("p").Hash}}})
	expect.Equal(t, "waiting after a restart", free, l.recounted("p").waiting("team-a"))
}

// TestFormIsPreviewedForAWeekAfterThePolicyHadIt: no current status shows what a version would delete that the policy had long
// ago.
func TestFormIsPreviewedForAWeekAfterThePolicyHadIt(t *testing.T) {
	tests := map[string]struct {
		away       time.Duration // how long the policy has another version
		seen       bool          // whether the status was written right before
		unobserved bool          // whether no leader saw the edits
		want       []string      // once a new leader has counted
	}{
		"a week":                         {policy.Week, true, false, free},
		"longer":                         {policy.Week + 1, true, false, waits},
		"not at all":                     {0, false, false, free},
		"a week, and no leader saw it":   {policy.Week, true, true, free},
		"longer, and no leader saw it":   {policy.Week + 1, true, true, waits},
		"longer than the preview is old": {time.Hour, false, false, waits},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := oneEnforced(t)
			began := l.clock.Now()
			l.counted("p")
			l.later(100 * policy.Day)
			if test.seen {
				began = l.clock.Now()
			}
			l.report("p", v1alpha1.RetentionPolicyStatus{Previews: []v1alpha1.Preview{{Hash: l.named("p").Hash, ObservedTime: metav1.Time{Time: began}}}})
			see := func() {
				if !test.unobserved {
					l.refresh()
				}
			}
			see()
			if test.away > 0 {
				l.policy("p", spec("Enforce", "2h"))
				see()
				l.later(test.away)
			}
			l.policy("p", spec("Enforce", "1h"))
			if test.unobserved {
				l = l.restart()
			}
			l.refresh()
			if gate := l.named("p").Gate; gate != nil && gate.Recount != nil {
				l.counted("p")
			}
			expect.Equal(t, "waiting", test.want, l.waiting("team-a"))
			l.approved("nothing")
			expect.Equal(t, "waiting after an approval of something else", test.want, l.waiting("team-a"))
		})
	}
}

func TestApprovedFormIsOpen(t *testing.T) {
	t.Run("from the start", func(t *testing.T) {
		l := oneEnforced(t)
		l.approve("p", l.named("p").ApprovalHash())
		expect.Equal(t, "waiting", free, l.restart().waiting("team-a"))
	})
	t.Run("once the cache shows it", func(t *testing.T) {
		l := oneEnforced(t)
		l.approved(l.named("p").ApprovalHash())
		expect.Equal(t, "waiting", free, l.waiting("team-a"))
		l.withdraw()
		l.readLive()
		expect.Equal(t, "waiting when it is withdrawn", waits, l.waiting("team-a"))
	})
	t.Run("and not when it is edited", func(t *testing.T) {
		l := oneEnforced(t)
		l.approve("p", l.named("p").ApprovalHash())
		l.become(spec("Enforce", "2h"))
		expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	})
}

func TestEditWaitsAndOneBackToAFormThatWasCountedDoesNot(t *testing.T) {
	l := oneEnforced(t)
	l.counted("p")
	l.policy("p", spec("Enforce", "1m"))
	expect.Equal(t, "rules, seen live", []string{"p/jobs Enforce 1m"}, l.allowed("team-a"))
	expect.Equal(t, "waiting", waits, l.waiting("team-a"))
	l.become(spec("Enforce", "1h"))
	expect.Equal(t, "waiting when it is edited back", free, l.waiting("team-a"))
	l.become(strings.Replace(spec("Enforce", "1h"), "name: jobs", "name: jobs, events: PerObject", 1))
	expect.Equal(t, "waiting when only its events differ", free, l.waiting("team-a"))
}

func TestRulesThatWereNotCountedWaitAlone(t *testing.T) {
	l := withPolicy(t, two)
	l.counted("p", "other")
	expect.Equal(t, "waiting", []string{"p/other"}, l.waiting("team-a"))
	expect.Equal(t, "gate", &policy.ApprovalGate{Rules: sets.New("other")}, l.named("p").Gate)

	l.report("p", v1alpha1.RetentionPolicyStatus{Previews: []v1alpha1.Preview{{Hash: l.named("p").Hash, Uncounted: []string{"other"}}}})
	expect.Equal(t, "waiting after a restart", []string{"p/other"}, l.recounted("p", "other").waiting("team-a"))

	l.counted("p")
	expect.Equal(t, "waiting when it is counted too", free, l.waiting("team-a"))
}

// TestRuleThatWasNotCountedLetsNoOtherPass: where a policy newly applies, all of its rules wait. A rule that was not counted
// waits everywhere.
func TestRuleThatWasNotCountedLetsNoOtherPass(t *testing.T) {
	s := newServer()
	s.namespace("team-a", ci)
	s.policy("p", "namespaceSelector: {matchLabels: {tier: ci}}"+two)
	l := newHarness(t, s)
	l.counted("p", "other")
	l.namespace("team-b", ci)
	l.refresh()
	expect.Equal(t, "waiting where it newly applies", []string{"p/good", "p/other"}, l.waiting("team-b"))
	expect.Equal(t, "waiting in other namespaces", []string{"p/other"}, l.waiting("team-a"))
	l.counted("p", "other")
	expect.Equal(t, "waiting once all others are counted", []string{"p/other"}, l.waiting("team-b"))
}

func TestGateWhereARunningPolicyNewlyApplies(t *testing.T) {
	prod := map[string]string{"tier": "prod"}
	tests := map[string]struct {
		before, change func(s *server)
		want           []string // namespaces
	}{
		"nothing":                           {nil, func(*server) {}, nil},
		"a namespace is selected":           {nil, func(s *server) { s.namespace("team-b", ci) }, []string{"team-b"}},
		"another label":                     {nil, func(s *server) { s.namespace("team-a", map[string]string{"tier": "ci", "x": "y"}) }, nil},
		"a namespace is no longer selected": {nil, func(s *server) { s.namespace("team-a", prod) }, nil},
		"a new namespace":                   {nil, func(s *server) { s.namespace("team-c", ci) }, nil},
		"a new namespace with an override":  {nil, func(s *server) { s.namespace("team-c", ci); s.policy("team-c/own", longer) }, nil},
		"a hold is added":                   {nil, func(s *server) { s.hold("team-a", "true") }, nil},
		"an override is added":              {nil, func(s *server) { s.policy("team-a/own", longer) }, []string{"team-a"}},
		"an override outside the selection": {nil, func(s *server) { s.policy("team-b/own", longer) }, nil},
		"an override of another policy":     {nil, func(s *server) { s.policy("team-a/own", strings.Replace(longer, "policy: p", "policy: q", 1)) }, nil},
		"an override changes": {func(s *server) { s.policy("team-a/own", longer) },
			func(s *server) { s.policy("team-a/own", strings.Replace(longer, "4h", "5h", 1)) }, []string{"team-a"}},
		"an override is about another rule": {func(s *server) { s.policy("team-a/own", longer) },
			func(s *server) {
				s.policy("team-a/own", strings.Replace(longer, "policy: p", "policy: p, rule: pods", 1))
			}, []string{"team-a"}},
		"an override is removed": {func(s *server) { s.policy("team-a/own", sparing) },
			func(s *server) { s.removePolicy("team-a/own") }, []string{"team-a"}},
		"own rules are added": {nil, func(s *server) { s.policy("team-a/own", ownRules("Enforce", "1h")) }, nil},
		"two namespaces":      {nil, func(s *server) { s.namespace("team-b", ci); s.policy("team-a/own", sparing) }, []string{"team-a", "team-b"}},
	}
	for name, test := range tests {
		for way, see := range map[string]func(*harness){
			"in the cache": (*harness).refresh,
			"live":         func(l *harness) { l.allowed("team-a"); l.allowed("team-b") },
		} {
			t.Run(name+", seen "+way, func(t *testing.T) {
				l := running(t)
				if test.before != nil {
					test.before(l.server)
					l.refresh()
					l.counted("p")
				}
				test.change(l.server)
				see(l)
				var got []string
				if gate := l.named("p").Gate; gate != nil {
					got = gate.Namespaces.Names()
				}
				expect.Equal(t, "namespaces that wait", test.want, got)
				for _, namespace := range test.want {
					expect.Equal(t, "waiting in "+namespace, waits, l.waiting(namespace))
				}
			})
		}
	}
}

// rescoped returns a running reconciler with a policy that newly applies in team-b.
func rescoped(t *testing.T) *harness {
	t.Helper()
	l := running(t)
	l.namespace("team-b", ci)
	l.refresh()
	return l
}

func TestGateStopsOnlyTheNewNamespace(t *testing.T) {
	l := rescoped(t)
	expect.Equal(t, "waiting", waits, l.waiting("team-b"))
	expect.Equal(t, "waiting in another namespace", free, l.waiting("team-a"))
	l.counted("p")
	expect.Equal(t, "waiting once it is counted", free, l.waiting("team-b"))
	l.refresh()
	expect.Equal(t, "waiting later", free, l.waiting("team-b"))
}

func TestEarlierCountOpensNoLaterNamespace(t *testing.T) {
	l := rescoped(t)
	before := l.named("p")
	l.policy("team-a/own", longer)
	l.refresh()
	l.Previewed(policyset.Count{Policy: before.UID, Generation: before.Generation, Preview: v1alpha1.Preview{Hash: before.Hash}, Gate: before.Gate, Opened: before.Gate.Namespaces})
	expect.Equal(t, "waiting in team-a", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting in team-b, where it was counted", free, l.waiting("team-b"))
	l.Previewed(policyset.Count{Policy: before.UID, Generation: before.Generation, Preview: v1alpha1.Preview{Hash: before.Hash}})
	l.policy("other", spec("DryRun", "1h"))
	l.refresh()
	expect.Equal(t, "waiting after a count of the version alone", waits, l.waiting("team-a"))
}

func TestNamespaceThatIsApprovedDoesNotWaitAgain(t *testing.T) {
	l := rescoped(t)
	l.approved(l.named("p").Gate.Hash)
	expect.Equal(t, "waiting", free, l.waiting("team-b"))
	l.policy("team-a/own", longer)
	l.refresh()
	expect.Equal(t, "waiting in the next namespace", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting in the approved namespace", free, l.waiting("team-b"))
}

func TestApprovalOfTheFormDoesNotApproveANamespace(t *testing.T) {
	l := running(t)
	l.approved(l.named("p").ApprovalHash())
	l.namespace("team-b", ci)
	l.refresh()
	expect.Equal(t, "waiting", waits, l.waiting("team-b"))
	expect.Equal(t, "waiting in another namespace", free, l.waiting("team-a"))
}

func TestGateSurvivesRestart(t *testing.T) {
	l := rescoped(t)
	p := l.named("p")
	l.report("p", v1alpha1.RetentionPolicyStatus{
		Previews: []v1alpha1.Preview{{Hash: p.Hash}},
		PendingApproval: &v1alpha1.PendingApproval{
			Hash: p.Gate.Hash, Due: v1alpha1.ApprovalCounts{Now: 200}, Matched: 300, Namespaces: []string{"team-b"}, SinceTime: &metav1.MicroTime{Time: p.Gate.Namespaces.Since()},
		},
	})
	again := l.recounted("p")
	was, is := *p.Gate, *again.named("p").Gate
	was.Before, is.Before = nil, nil // the other process only knows that it waits
	expect.Equal(t, "gate", was, is)
	expect.Equal(t, "waiting in another namespace", free, again.waiting("team-a"))
	l.approve("p", p.Gate.Hash)
	expect.Equal(t, "waiting with an approval from before the restart", free, l.recounted("p").waiting("team-b"))
}

// TestChangesThatTheStatusDoesNotShowSurviveARestart: the pending approval may show an earlier change, or something else.
func TestChangesThatTheStatusDoesNotShowSurviveARestart(t *testing.T) {
	l := rescoped(t)
	p, since := l.named("p"), func(l *harness) time.Time { return l.named("p").Gate.Namespaces.Since() }
	shown := v1alpha1.PendingApproval{Hash: p.Gate.Hash, Namespaces: []string{"team-b"}, SinceTime: &metav1.MicroTime{Time: since(l)}}
	l.policy("team-a/own", longer) // and again in team-b, after the status has shown the change there
	l.policy("team-b/own", longer)
	l.refresh()
	enforced := v1alpha1.EnforcedCount{Hash: p.Hash, WaitingNamespaces: []string{"team-a", "team-b"}, WaitingSinceTime: &metav1.MicroTime{Time: since(l)}}
	for name, test := range map[string]struct {
		pending  v1alpha1.PendingApproval
		approved string
	}{
		"it shows an earlier change":              {shown, ""},
		"it shows an earlier change, approved":    {shown, shown.Hash},
		"it shows what another leader finds more": {v1alpha1.PendingApproval{Hash: p.MoreHash(time.Time{}, 9)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l.report("p", v1alpha1.RetentionPolicyStatus{Previews: []v1alpha1.Preview{{Hash: p.Hash}}, PendingApproval: &test.pending, Enforced: &enforced})
			if test.approved != "" {
				l.approve("p", test.approved)
			}
			again := l.recounted("p")
			for _, namespace := range []string{"team-a", "team-b"} {
				expect.Equal(t, "waiting in "+namespace, waits, again.waiting(namespace))
			}
		})
	}
}

func TestGateSurvivesEdits(t *testing.T) {
	tests := map[string]func(l *harness){
		"of its mode": func(l *harness) {
			l.edit("p", func(p *unstructured.Unstructured) {
				p.Object["spec"].(map[string]any)["mode"] = "Suspend"
				p.SetGeneration(7)
			})
			l.refresh()
			l.edit("p", func(p *unstructured.Unstructured) {
				p.Object["spec"].(map[string]any)["mode"] = "Enforce"
				p.SetGeneration(8)
			})
		},
		"of its approvals": func(l *harness) { l.approve("p", "nothing") },
		"to a namespace that leaves the selection and returns": func(l *harness) {
			l.namespace("team-b", nil)
			l.refresh()
			l.namespace("team-b", ci)
		},
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			l := rescoped(t)
			edit(l)
			l.refresh()
			expect.Equal(t, "waiting", waits, l.waiting("team-b"))
		})
	}
}

func TestOwnRulesWaitToo(t *testing.T) {
	l := teamed(t, ownRules("Enforce", "5m"))
	l.counted("p")
	expect.Equal(t, "waiting", []string{"team-a/own/jobs"}, l.waiting("team-a"))
	l.counted("team-a/own")
	expect.Equal(t, "waiting once they are counted", free, l.waiting("team-a"))
}

// TestCopyOfAnApprovedPolicyWaits, for example from a backup, or if a policy was deleted and created again.
func TestCopyOfAnApprovedPolicyWaits(t *testing.T) {
	l := oneEnforced(t)
	hash := l.named("p").ApprovalHash()
	l.approved(hash)
	expect.Equal(t, "waiting", free, l.waiting("team-a"))
	l.removePolicy("p")
	l.policy("p", spec("Enforce", "1h"))
	l.approved(hash)
	expect.Equal(t, "waiting when it is created again", waits, l.waiting("team-a"))
	expect.Equal(t, "waiting after a restart", waits, l.restart().waiting("team-a"))
}

// TestDryRunThatComesIntoForceWithAChangeIsApprovedOnce, independently of earlier approvals and of whether its version was
// counted.
func TestDryRunThatComesIntoForceWithAChangeIsApprovedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		counted, approved bool
		ttl               string // of the enforced version
	}{
		"counted":                          {true, false, "1h"},
		"counted, and approved":            {true, true, "1h"},
		"not counted":                      {false, false, "1h"},
		"not counted, and approved":        {false, true, "1h"},
		"counted, and of another version":  {true, false, "2h"},
		"approved, and of another version": {true, true, "2h"},
		"always, and approved":             {true, true, "always"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.hold("team-a", "true")
			dry, enforced := spec("DryRun", "1h"), spec("Enforce", test.ttl)
			if test.ttl == "always" {
				dry = strings.Replace(dry, "rules:", "approval: {requiredFor: AllChanges}, rules:", 1)
				enforced = strings.Replace(dry, "DryRun", "Enforce", 1)
			}
			s.policy("p", dry)
			l := newHarness(t, s)
			if test.counted {
				l.counted("p")
			}
			if test.approved {
				l.approved(l.named("p").ApprovalHash())
			}
			l.hold("team-a", "")
			l.become(enforced)
			gate := l.named("p").Gate
			expect.Equal(t, "waiting", []string{"p/jobs"}, l.waiting("team-a"))
			l.approved(gate.Hash)
			expect.Equal(t, "waiting once it is approved", free, l.waiting("team-a"))
			l.later(time.Minute)
			l.Republish()
			expect.Equal(t, "waiting later", free, l.waiting("team-a"))
		})
	}
}

// TestCountDoesNotOutliveVeto: the count of an earlier version, uncounted rules, or a count from before a
// restart must not outlive the veto.
func TestCountDoesNotOutliveVeto(t *testing.T) {
	held := func() *harness {
		return holding(t, spec("DryRun", "1h"))
	}
	t.Run("an earlier version", func(t *testing.T) {
		l := held()
		l.counted("p")
		l.become(spec("DryRun", "2h"))
		l.counted("p")
		l.unhold()
		l.counted("p")
		l.become(spec("Enforce", "1h"))
		expect.Equal(t, "waiting", []string{"p/jobs"}, l.waiting("team-a"))
	})
	t.Run("a count that began before the veto was removed", func(t *testing.T) {
		l := held()
		l.counted("p")
		p := l.named("p")
		late := policyset.Count{Policy: p.UID, Generation: p.Generation, Preview: v1alpha1.Preview{Hash: p.Hash, ObservedTime: metav1.Time{Time: l.clock.Now()}}}
		l.unhold()
		l.Previewed(late)
		l.become(spec("Enforce", "1h"))
		expect.Equal(t, "waiting", []string{"p/jobs"}, l.waiting("team-a"))
	})
	t.Run("a rule that was not counted", func(t *testing.T) {
		l := held()
		l.counted("p", "jobs")
		l.hold("team-a", "")
		l.become(spec("Enforce", "1h"))
		expect.Equal(t, "compared with a dry run", false, l.named("p").Gate.Previewed)
	})
	t.Run("a restart while it waits", func(t *testing.T) {
		l := held()
		l.counted("p")
		l.approved(l.named("p").ApprovalHash())
		l.hold("team-a", "")
		l.become(spec("Enforce", "1h"))
		p := l.named("p")
		l.report("p", v1alpha1.RetentionPolicyStatus{ObservedGeneration: p.Generation, PendingApproval: &v1alpha1.PendingApproval{Hash: p.Gate.Hash, Due: v1alpha1.ApprovalCounts{Now: 9, Week: 9}}})
		l = l.restart()
		expect.Equal(t, "waiting", []string{"p/jobs"}, l.waiting("team-a"))
		l.approved(l.named("p").Gate.Hash)
		expect.Equal(t, "waiting once it is approved", free, l.waiting("team-a"))
	})
}
