// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// objects are finished Jobs of team-a, by their age.
type objects []time.Duration

// old returns n objects that finished ten days ago.
func old(n int) objects {
	all := make(objects, n)
	for i := range all {
		all[i] = 10 * policy.Day
	}
	return all
}

// spread returns 30 objects, of which three finished on each of ten days.
func spread() objects {
	all := make(objects, 30)
	for i := range all {
		all[i] = time.Duration(i)*8*time.Hour + time.Hour/2
	}
	return all
}

// ci are the labels that the policies of in select.
var ci = map[string]string{"tier": "ci"}

// in returns a policy for namespaces with tier=ci.
func in(spec string) string {
	return strings.Replace(spec, "rules", "namespaceSelector: {matchLabels: {tier: ci}}, rules", 1)
}

// unlabelled is an expression that fails, because the objects lack the label.
const unlabelled = "object.metadata.labels['team']"

// with adds an expression to the rule of a spec.
func with(field, expression, spec string) string {
	return strings.Replace(spec, "ttl:", fmt.Sprintf("%s: %q, ttl:", field, expression), 1)
}

// byQuota is a policy about Jobs that keeps the quota.
var byQuota = in(`{mode: Enforce, rules: [{name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), capacity: {percentOfQuota: 100}}]}`)

// rulings returns the subjects, and the evaluations of each by the rules of a snapshot.
func (o objects) rulings(l *harness, snapshot *policy.Snapshot) (subjects []policy.Subject, evaluations [][]policy.Evaluation) {
	page := snapshot.Effective(jobs, "team-a")
	evaluations = make([][]policy.Evaluation, len(o))
	for i, age := range o {
		s := policy.Subject{Namespace: "team-a", Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)), Created: l.clock.Now().Add(-100 * policy.Day)}
		for _, r := range page.Rules {
			f := policy.Facts{Selected: true, Eligible: true, Start: l.clock.Now().Add(-age).Truncate(time.Second)}
			if r.Mark != "" {
				f.Start, f.Estimated = l.clock.Now(), true
			}
			if r.Spec.Outcome == unlabelled || r.Spec.Bytes == unlabelled {
				f = policy.Facts{Selected: true, Err: errors.New("no such key: team")}
			}
			evaluations[i] = append(evaluations[i], policy.Evaluation{Rule: r, Facts: f, Known: true})
		}
		subjects = append(subjects, page.WithHold(s))
	}
	for k, r := range page.Rules {
		if !r.Ranks() {
			continue
		}
		members := make([]policy.Candidate, len(o))
		for i := range o {
			members[i], _ = policy.CandidateOf(&subjects[i], &evaluations[i][k].Facts, true)
		}
		for i, standing := range snapshot.Ranking(jobs, r.ID).Rank(members) {
			evaluations[i][k].Rank = standing
		}
	}
	return subjects, evaluations
}

// count counts the objects for a policy as last published.
func (o objects) count(l *harness, name string) policy.ChangeCount {
	l.t.Helper()
	subjects, evaluations := o.rulings(l, l.snapshot())
	stats := policy.NewStats(l.clock.Now())
	for i := range o {
		stats.AddAfter(subjects[i], evaluations[i], func(snapshot *policy.Snapshot) (policy.Subject, []policy.Evaluation) {
			was, said := o.rulings(l, snapshot)
			return was[i], said[i]
		})
	}
	if tally := stats.Policies[name]; tally != nil {
		return tally.Pending.ChangeCount
	}
	return policy.ChangeCount{}
}

// deletes returns how many objects the rules delete, as last published.
func (o objects) deletes(l *harness) (n int) {
	subjects, evaluations := o.rulings(l, l.snapshot())
	for i := range o {
		if v, _ := policy.Decide(subjects[i], evaluations[i], l.clock.Now()); v.Action == policy.Delete {
			n++
		}
	}
	return n
}

// TestChangeThatDeletesMoreIsCountedFirst: each kind of change that deletes more than before waits, and is counted for the
// additional deletions.
func TestChangeThatDeletesMoreIsCountedFirst(t *testing.T) {
	p := in(spec("Enforce", "1h"))
	q := spec("Suspend", "1h")
	limit := func(n string) corev1.ResourceQuotaSpec { return hard("count/jobs.batch=" + n) }
	spread := spread()
	tests := map[string]struct {
		before, change func(s *server)
		objects        objects
		week           int64 // -1 if nothing waits
	}{
		"a new policy":                       {func(s *server) {}, func(s *server) { s.policy("p", p) }, old(30), 30},
		"one with marks":                     {func(s *server) {}, func(s *server) { s.policy("p", in(marking("Enforce", "finished(object)"))) }, old(30), 30},
		"one that deletes in a minute":       {func(s *server) {}, func(s *server) { s.policy("p", in(spec("Enforce", "241h"))) }, old(30), 30},
		"one that another suspends":          {func(s *server) { s.policy("q", q) }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"one while another has a longer TTL": {func(s *server) { s.policy("q", spec("Enforce", "400d")) }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"one in a namespace that is held":    {func(s *server) { s.hold("team-a", "true") }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"one under an override":              {func(s *server) { s.policy("team-a/own", sparing) }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"one with a long TTL":                {func(s *server) {}, func(s *server) { s.policy("p", in(spec("Enforce", "400d"))) }, old(30), 0},
		"a shorter TTL":                      {func(s *server) { s.policy("p", in(spec("Enforce", "7d"))) }, func(s *server) { s.policy("p", in(spec("Enforce", "6d"))) }, spread, 3},
		"a much shorter TTL":                 {func(s *server) { s.policy("p", in(spec("Enforce", "9d"))) }, func(s *server) { s.policy("p", p) }, spread, 27},
		"a hold is removed":                  {func(s *server) { s.policy("p", p); s.hold("team-a", "true") }, func(s *server) { s.hold("team-a", "") }, old(30), 30},
		"a label is added":                   {func(s *server) { s.policy("p", p); s.namespace("team-a", nil) }, func(s *server) { s.namespace("team-a", ci) }, old(30), 30},
		"a veto does not select any more": {func(s *server) {
			s.policy("p", p)
			s.policy("q", strings.Replace(q, "rules", "namespaceSelector: {matchLabels: {keep: me}}, rules", 1))
			s.namespace("team-a", map[string]string{"tier": "ci", "keep": "me"})
		}, func(s *server) { s.namespace("team-a", ci) }, old(30), 30},
		"an override is removed": {func(s *server) { s.policy("p", p); s.policy("team-a/own", sparing) }, func(s *server) { s.removePolicy("team-a/own") }, old(30), 30},
		"an override is fixed": {func(s *server) {
			s.policy("p", p)
			s.policy("team-a/own", `{mode: Enforce, overrides: [{policy: p, keepAll: true, ttl: 1h}]}`)
		}, func(s *server) { s.policy("team-a/own", `{mode: Enforce, overrides: [{policy: p, ttl: 1h}]}`) }, old(30), 30},
		"a veto is removed":                      {func(s *server) { s.policy("p", p); s.policy("q", q) }, func(s *server) { s.removePolicy("q") }, old(30), 30},
		"a veto becomes a dry run":               {func(s *server) { s.policy("p", p); s.policy("q", q) }, func(s *server) { s.policy("q", spec("DryRun", "1h")) }, old(30), 30},
		"a suspended policy is enforced":         {func(s *server) { s.policy("p", p); s.policy("q", q) }, func(s *server) { s.policy("q", spec("Enforce", "1h")) }, old(30), 30},
		"a veto is narrowed":                     {func(s *server) { s.policy("p", p); s.policy("q", q) }, func(s *server) { s.policy("q", strings.Replace(q, "rules", "excludeNamespaces: [team-a], rules", 1)) }, old(30), 30},
		"a longer TTL is removed":                {func(s *server) { s.policy("p", p); s.policy("q", spec("Enforce", "400d")) }, func(s *server) { s.policy("q", spec("Enforce", "1h")) }, old(30), 30},
		"a veto of a RetentionPolicy is removed": {func(s *server) { s.policy("p", p); s.policy("team-a/own", ownRules("Suspend", "1h")) }, func(s *server) { s.removePolicy("team-a/own") }, old(30), 30},
		"an exclusion is removed":                {func(s *server) { s.policy("p", strings.Replace(p, "rules", "excludeNamespaces: [team-a], rules", 1)) }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"a quota shrinks":                        {func(s *server) { s.policy("p", byQuota); s.quota("team-a/q", limit("1000")) }, func(s *server) { s.quota("team-a/q", limit("0")) }, old(30), 30},
		"a quota is added": {func(s *server) {
			s.policy("p", byQuota)
			s.quota("team-a/other", hard("pods=5"))
		}, func(s *server) { s.quota("team-a/q", limit("10")) }, old(30), 20},
		"an outcome that fails is corrected":   {func(s *server) { s.policy("p", with("outcome", unlabelled, p)) }, func(s *server) { s.policy("p", with("outcome", "'any'", p)) }, old(30), 30},
		"an outcome that fails is removed":     {func(s *server) { s.policy("p", with("outcome", unlabelled, p)) }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"an outcome is added":                  {func(s *server) { s.policy("p", p) }, func(s *server) { s.policy("p", with("outcome", "'any'", p)) }, old(30), 0},
		"bytes that fail are removed":          {func(s *server) { s.policy("p", with("bytes", unlabelled, p)) }, func(s *server) { s.policy("p", p) }, old(30), 30},
		"bytes are added":                      {func(s *server) { s.policy("p", p) }, func(s *server) { s.policy("p", with("bytes", "5", p)) }, old(30), 0},
		"a veto without effect is removed":     {func(s *server) { s.policy("p", p); s.policy("q", spec("Enforce", "2h")) }, func(s *server) { s.removePolicy("q") }, old(30), 0},
		"another policy is added":              {func(s *server) { s.policy("p", p) }, func(s *server) { s.policy("q", q) }, old(30), -1},
		"another has a longer TTL than before": {func(s *server) { s.policy("p", p); s.policy("q", spec("Enforce", "2h")) }, func(s *server) { s.policy("q", spec("Enforce", "3h")) }, old(30), -1},
		"a hold is added":                      {func(s *server) { s.policy("p", p) }, func(s *server) { s.hold("team-a", "true") }, old(30), -1},
		"a dry run of another is removed":      {func(s *server) { s.policy("p", p); s.policy("q", spec("DryRun", "1h")) }, func(s *server) { s.removePolicy("q") }, old(30), -1},
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
			l.later(2 * time.Second)
			test.change(s)
			l.refresh()
			l.allowed("team-a")
			if test.week < 0 {
				expect.Equal(t, "p waits", false, slices.Contains(l.waiting("team-a"), "p/jobs"))
				return
			}
			expect.Equal(t, "p waits", true, slices.Contains(l.waiting("team-a"), "p/jobs"))
			expect.Equal(t, "deletions while it waits", 0, test.objects.deletes(l))
			expect.Equal(t, "counted", test.week, test.objects.count(l, "p").Week)
			expect.Equal(t, "counted after a second change", true, func() bool {
				l.namespace("team-a", map[string]string{"tier": "ci", "other": "label"})
				l.refresh()
				return test.objects.count(l, "p").Week == test.week
			}())
			l.counted("p")
			l.refresh()
			expect.Equal(t, "p waits once it is counted", false, slices.Contains(l.waiting("team-a"), "p/jobs"))
		})
	}
}
