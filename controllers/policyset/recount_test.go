// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// older returns the objects after a time has passed.
func (o objects) older(by time.Duration) objects {
	all := slices.Clone(o)
	for i := range all {
		all[i] += by
	}
	return all
}

// enforced returns the status that a leader writes for a policy that does not wait.
func (o objects) enforced(l *harness, name string) v1alpha1.RetentionPolicyStatus {
	l.t.Helper()
	subjects, evaluations := o.rulings(l, l.snapshot())
	stats, p := policy.NewStats(l.clock.Now()), l.named(name)
	for i := range o {
		stats.Add(subjects[i], evaluations[i])
	}
	status := v1alpha1.RetentionPolicyStatus{
		Previews: []v1alpha1.Preview{{Hash: p.Hash}},
		Enforced: &v1alpha1.EnforcedCount{Hash: p.Hash, ObservedTime: metav1.Time{Time: l.clock.Now().UTC().Truncate(time.Second)}},
	}
	if tally := stats.Policies[name]; tally != nil {
		status.Enforced.Due = v1alpha1.ApprovalCounts{Now: tally.Due.Now, Week: tally.Due.Week}
		status.Previews[0].Due = status.Enforced.Due
	}
	return status
}

// TestNewLeaderCountsMissedChanges: a new leader first counts what would have been due for the previous leader,
// and deletes nothing before. It counts neither objects that have become due since then nor new ones.
func TestNewLeaderCountsMissedChanges(t *testing.T) {
	p, q := in(spec("Enforce", "1h")), spec("Suspend", "1h")
	newest := in(`{mode: Enforce, rules: [{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 1h, keepNewest: {count: 20}}]}`)
	limit := func(n string) corev1.ResourceQuotaSpec { return hard("count/jobs.batch=" + n) }
	spread := spread()
	finishing := append(old(20), make(objects, 20)...) // twenty more finish an hour after the previous leader has stopped
	for i := range 20 {
		finishing[20+i] = -time.Hour
	}
	soon := slices.Repeat(objects{-time.Second / 2}, 30) // they finish in the second of the last count, after it
	nothing := func(*server) {}
	withP := func(s *server) { s.policy("p", p) }
	tests := map[string]struct {
		before, change func(s *server)
		objects        objects // at the time of the last count
		down           time.Duration
		due, week      int64
	}{
		"a veto is removed":                              {func(s *server) { withP(s); s.policy("q", q) }, func(s *server) { s.removePolicy("q") }, old(30), 0, 30, 30},
		"a veto is removed after a long time":            {func(s *server) { withP(s); s.policy("q", q) }, func(s *server) { s.removePolicy("q") }, old(30), 3 * policy.Day, 30, 30},
		"a longer TTL is removed":                        {func(s *server) { withP(s); s.policy("q", spec("Enforce", "400d")) }, func(s *server) { s.removePolicy("q") }, old(30), time.Minute, 30, 30},
		"a veto of a RetentionPolicy is removed":         {func(s *server) { withP(s); s.policy("team-a/own", ownRules("Suspend", "1h")) }, func(s *server) { s.removePolicy("team-a/own") }, old(30), time.Minute, 30, 30},
		"a hold is removed":                              {func(s *server) { withP(s); s.hold("team-a", "true") }, func(s *server) { s.hold("team-a", "") }, old(30), time.Minute, 30, 30},
		"a label is added":                               {func(s *server) { withP(s); s.namespace("team-a", nil) }, func(s *server) { s.namespace("team-a", ci) }, old(30), time.Minute, 30, 30},
		"an override is removed":                         {func(s *server) { withP(s); s.policy("team-a/own", sparing) }, func(s *server) { s.removePolicy("team-a/own") }, old(30), time.Minute, 30, 30},
		"a quota shrinks":                                {func(s *server) { s.policy("p", byQuota); s.quota("team-a/q", limit("1000")) }, func(s *server) { s.quota("team-a/q", limit("0")) }, old(30), time.Minute, 30, 30},
		"a veto is removed, and objects are due in days": {func(s *server) { s.policy("p", in(spec("Enforce", "13d"))); s.policy("q", spec("Enforce", "400d")) }, func(s *server) { s.removePolicy("q") }, old(30), time.Minute, 0, 30},
		"a veto that kept some objects is removed":       {func(s *server) { s.policy("p", in(spec("Enforce", "6d"))); s.policy("q", spec("Enforce", "7d")) }, func(s *server) { s.removePolicy("q") }, spread, time.Minute, 3, 3},
		"nothing changes":                                {withP, nothing, old(30), time.Minute, 0, 0},
		"nothing changes for days":                       {func(s *server) { s.policy("p", in(spec("Enforce", "7d"))) }, nothing, spread, 5 * policy.Day, 0, 0},
		"nothing changes for weeks":                      {func(s *server) { s.policy("p", in(spec("Enforce", "30d"))) }, nothing, spread, 50 * policy.Day, 0, 0},
		"objects that another kept longer become due":    {func(s *server) { withP(s); s.policy("q", spec("Enforce", "11d")) }, nothing, old(30), 2 * policy.Day, 0, 0},
		"others finish":                                  {withP, nothing, finishing[20:], policy.Day, 0, 0},
		"others finish in the same second":               {withP, nothing, soon, time.Minute, 0, 0},
		"others finish, and the newest change":           {func(s *server) { s.policy("p", newest) }, nothing, finishing, policy.Day, 0, 0},
		"a veto is added":                                {withP, func(s *server) { s.policy("q", q) }, old(30), time.Minute, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.namespace("team-a", ci)
			test.before(s)
			l := newHarness(t, s)
			l.allowed("team-a") // this reads quotas
			for _, policy := range l.snapshot().Policies() {
				l.counted(policy.Name)
			}
			existed := slices.DeleteFunc(slices.Clone(test.objects), func(age time.Duration) bool { return age < 0 })
			s.report("p", existed.enforced(l, "p"))
			l.later(test.down)
			test.change(s)
			var hashes []string
			for range 2 { // two leaders: the first one stops before it has counted
				l = l.restart()
				l.allowed("team-a")
				expect.Equal(t, "p waits", true, slices.Contains(l.waiting("team-a"), "p/jobs"))
				expect.Equal(t, "deletions while it waits", 0, test.objects.older(test.down).deletes(l))
				hashes = append(hashes, l.named("p").Gate.Hash)
			}
			gate := l.named("p").Gate
			more := gate.Recount.More(test.objects.older(test.down).count(l, "p"), nil)
			expect.Equal(t, "due", test.due, more.Due)
			expect.Equal(t, "week", test.week, more.Week)
			expect.Equal(t, "hash of the second leader", hashes[0], hashes[1])
			l.counted("p")
			expect.Equal(t, "p waits once it is counted", false, slices.Contains(l.waiting("team-a"), "p/jobs"))
		})
	}
}

// TestDryRunThatIsEnforcedWhileNoLeaderRunsIsCompared with its last count. Each leader does this until one has counted, and
// has found no more or has an approval.
func TestDryRunThatIsEnforcedWhileNoLeaderRunsIsCompared(t *testing.T) {
	for name, enforce := range map[string]func(l *harness) *harness{
		"before the leader starts": func(l *harness) *harness {
			l.policy("p", spec("Enforce", "1h"))
			return l.restart()
		},
		"before the leader has counted": func(l *harness) *harness {
			l = l.restart()
			l.become(spec("Enforce", "1h"))
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := holding(t, spec("DryRun", "1h"))
			l.reported(old(30))
			l.later(time.Minute)
			l.hold("team-a", "")
			l = enforce(l)
			all := old(30).older(time.Minute)
			gate := l.named("p").Gate
			expect.Equal(t, "due", int64(30), gate.Recount.More(all.count(l, "p"), nil).Due)
			expect.Equal(t, "deleted while it waits", 0, all.deletes(l))
			l.edit("p", func(p *unstructured.Unstructured) {
				status := p.Object["status"].(map[string]any)
				status["pendingApproval"] = map[string]any{"hash": gate.Hash, "due": map[string]any{"now": int64(30), "week": int64(30)}, "matched": int64(30)}
			})
			l = l.restart()
			expect.Equal(t, "hash of the next leader", gate.Hash, l.named("p").Gate.Hash)
			l.counted("p")
			expect.Equal(t, "waiting once it is counted", free, l.waiting("team-a"))
		})
	}
}

// TestLeaderThatStartsReadsWhatWasCountedLive: the status in its cache may be from before the previous leader dropped a count.
func TestLeaderThatStartsReadsWhatWasCountedLive(t *testing.T) {
	l := oneEnforced(t)
	l.report("p", v1alpha1.RetentionPolicyStatus{Previews: []v1alpha1.Preview{{Hash: l.named("p").Hash}}})
	l.sync()
	l.report("p", v1alpha1.RetentionPolicyStatus{ObservedGeneration: 1})
	again := newUnreadHarness(t, l.server)
	again.reconcile()
	expect.Equal(t, "hash to approve", l.named("p").ApprovalHash(), again.named("p").Gate.Hash)
}
