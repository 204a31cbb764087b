// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLoadFindsProblemsOfWindowsAndFreezes(t *testing.T) {
	const rules = `"rules": [{"name": "a", "target": {"apiVersion": "v1", "kind": "Pod"}, "ttl": "1h"}], `
	const freeze = `"from": "2026-12-19T00:00:00Z", "to": "2027-01-04T00:00:00Z"`
	for name, test := range map[string]struct{ spec, want string }{
		"a date that does not exist":   {rules + `"windows": [{"schedule": "0 0 30 2 *", "duration": "1h"}]`, `spec.windows[0].schedule: "0 0 30 2 *" never occurs`},
		"the second window":            {rules + `"windows": [{"schedule": "@daily", "duration": "1h"}, {"schedule": "61 * * * *", "duration": "1h"}]`, "spec.windows[1].schedule"},
		"a time zone in the schedule":  {rules + `"windows": [{"schedule": "CRON_TZ=Europe/Berlin 0 22 * * *", "duration": "1h"}]`, "the time zone belongs in timeZone"},
		"an interval":                  {rules + `"windows": [{"schedule": "@every 1h", "duration": "1h"}]`, "is an interval"},
		"no schedule":                  {rules + `"windows": [{"duration": "1h"}]`, "spec.windows[0].schedule: missing"},
		"an unknown time zone":         {rules + `"windows": [{"schedule": "@daily", "duration": "1h", "timeZone": "Europe/Bonn"}]`, `spec.windows[0].timeZone: "Europe/Bonn"`},
		"the time zone of the machine": {rules + `"windows": [{"schedule": "@daily", "duration": "1h", "timeZone": "Local"}]`, "spec.windows[0].timeZone"},
		"no duration":                  {rules + `"windows": [{"schedule": "@daily"}]`, "spec.windows[0].duration"},
		"a short duration":             {rules + `"windows": [{"schedule": "@daily", "duration": "59s"}]`, "1m to 366d"},
		"a long duration":              {rules + `"windows": [{"schedule": "@daily", "duration": "367d"}]`, "1m to 366d"},
		"no windows in the list":       {rules + `"windows": []`, "spec.windows: empty"},
		"windows of another type":      {rules + `"windows": "0 22 * * *"`, "spec.windows: string given"},
		"a misspelt field":             {rules + `"windows": [{"schedule": "@daily", "duration": "1h", "timezone": "UTC"}]`, "did you mean timeZone?"},
		"windows without rules":        {`"windows": [{"schedule": "@daily", "duration": "1h"}], "freezes": [{` + freeze + `, "allPolicies": true}]`, "spec.windows: the policy has no rules"},
		"a freeze without an end":      {rules + `"freezes": [{"from": "2026-12-19T00:00:00Z"}]`, "spec.freezes[0].to: missing"},
		"a freeze without a beginning": {rules + `"freezes": [{"to": "2026-12-19T00:00:00Z"}]`, "spec.freezes[0].from: missing"},
		"a freeze that ends too early": {rules + `"freezes": [{"from": "2027-01-04T00:00:00Z", "to": "2026-12-19T00:00:00Z"}]`, "spec.freezes[0].to: 2026-12-19T00:00:00Z is not later than from, 2027-01-04T00:00:00Z (write a later time"},
		"a date without a time":        {rules + `"freezes": [{"from": "2026-12-19", "to": "2027-01-04T00:00:00Z"}]`, "spec.freezes[0]: parsing time"},
		"a freeze without rules":       {`"freezes": [{` + freeze + `}]`, "write allPolicies: true"},
		"a misspelt field of a freeze": {rules + `"freezes": [{` + freeze + `, "allPolicy": true}]`, "did you mean allPolicies?"},
		"a lost freeze, misspelt":      {rules + `"freeze": [{` + freeze + `, "allPolicies": true}]`, "did you mean freezes?"},
		"a lost freeze, misplaced":     {strings.Replace(rules, `"ttl"`, `"freezes": [{`+freeze+`}], "ttl"`, 1) + `"mode": "Enforce"`, "freezes belongs in spec"},
		"another misspelt field":       {rules + `"excludeNamespace": ["x"]`, "did you mean excludeNamespaces?"},
		"a freeze of all policies":     {`"freezes": [{` + freeze + `, "allPolicies": true}]`, ""},
		"windows and freezes":          {rules + `"windows": [{"schedule": "0 22 * * 1-5", "duration": "8h", "timeZone": "Europe/Berlin"}], "freezes": [{` + freeze + `, "reason": "audit"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, `{"metadata": {"name": "p"}, "spec": {`+test.spec+`}}`).Load(policy.DefaultProtection())
			said := strings.Join(policy.Lines(p.Problems), "; ")
			if len(p.Problems) > 1 || !strings.Contains(said, test.want) || test.want == "" && said != "" {
				t.Errorf("problems %q, want %q", said, test.want)
			}
			for _, r := range p.Rules {
				expect.Equal(t, "the rule is invalid", test.want != "", r.Invalid())
			}
			spoils := strings.HasPrefix(said, "spec.freezes") || strings.Contains(name, "lost")
			all := slices.ContainsFunc(p.Freezes, func(f policy.Freeze) bool { return f.All && f.To.Year() == 9999 })
			expect.Equal(t, "an invalid freeze freezes all policies without an end", spoils, all)
		})
	}
}

// TestOverridesNarrowWindows: windows of an override apply in addition to those of the rule.
func TestOverridesNarrowWindows(t *testing.T) {
	night, evening := loadedWindows(window("0 22 * * *", "8h")), loadedWindows(window("0 20 * * *", "4h"))
	for name, test := range map[string]struct {
		as   func(*policy.Rule)
		want string
	}{
		"both must be open":                    {func(r *policy.Rule) { r.Windows = []*policy.Windows{night} }, "2026-03-01T22:00:00Z"},
		"the rule has none":                    {func(*policy.Rule) {}, "2026-03-01T20:00:00Z"},
		"a rule that no namespace may suspend": {func(r *policy.Rule) { r.Bounds.NoSuspend = true }, "2026-03-01T12:00:00Z"},
		"such a rule with windows":             {func(r *policy.Rule) { r.Bounds.NoSuspend, r.Windows = true, []*policy.Windows{night} }, "2026-03-01T22:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := enforced("p", "a")
			test.as(rule)
			r := settled(rule, &policy.Override{Policy: "p", Windows: evening})
			v, _ := policy.Decide(policy.Subject{}, []policy.Evaluation{{Rule: r, Known: true, Facts: policy.Facts{Selected: true, Eligible: true, Start: moment(t, "2026-02-01T05:30:00Z")}}}, now)
			opens := v.Due
			if v.Action == policy.Delete {
				opens = now
			}
			expect.Equal(t, "deleted", test.want, opens.Format(time.RFC3339))
		})
	}
}

// freezing is a policy without rules that freezes the rules of all policies for an hour.
func freezing(name string) *policy.Policy {
	p := policyOf(name)
	p.Freezes = []policy.Freeze{{By: name, From: now, To: now.Add(hour), Reason: "audit", All: true}}
	return p
}

func TestFreezeOfAllPolicies(t *testing.T) {
	ofTeam := freezing("team-a/f")
	ofTeam.Namespace = "team-a"
	selecting := freezing("f")
	selecting.Namespaces, selecting.Excluded = selector("tier=ci"), sets.New("team-b")
	ofItself := freezing("f")
	ofItself.Freezes[0].All = false
	unsuspendable := func(r *policy.Rule) { r.Bounds.NoSuspend = true }
	all := []string{"", "team-a", "team-b", "other"}
	for name, test := range map[string]struct {
		by     *policy.Policy
		change func(*policy.Rule)
		want   []string // the namespaces where rule p/a is frozen
		whole  bool     // policy p reports it
	}{
		"of the cluster": {freezing("f"), nil, all, true},
		"of the cluster, and a rule that no namespace may suspend": {freezing("f"), unsuspendable, all, true},
		"of some namespaces": {selecting, nil, []string{"", "team-a"}, false},
		"of one namespace":   {ofTeam, nil, []string{"team-a"}, false},
		"of one namespace, and a rule that it may not suspend": {ofTeam, unsuspendable, nil, false},
		"of another policy alone":                              {ofItself, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			rule := enforced("p", "a")
			if test.change != nil {
				test.change(rule)
			}
			p := policyOf("p", rule)
			ci := policy.Namespace{Labels: map[string]string{"tier": "ci"}}
			snapshot := policy.NewSnapshot([]*policy.Policy{p, test.by}, map[string]policy.Namespace{"team-a": ci, "team-b": ci, "other": {}}, policy.DefaultProtection())
			var frozen []string
			for _, namespace := range all {
				if snapshot.Effective(jobs.GroupKind(), namespace).Rules[0].Deferral(now) != nil {
					frozen = append(frozen, namespace)
				}
			}
			expect.Equal(t, "frozen", test.want, frozen)
			d, changes := snapshot.Deferral(p, now)
			expect.Equal(t, "policy p reports it", test.whole, d != nil)
			if test.whole {
				expect.Equal(t, "until", now.Add(hour), d.Until)
				expect.Equal(t, "changes", now.Add(hour), changes)
				expect.Equal(t, "says", "freeze from 2026-03-01T12:00:00Z to 2026-03-01T13:00:00Z by policy f: audit; deletions continue at 2026-03-01T13:00:00Z", d.String())
			}
			_, changes = snapshot.Deferral(p, now.Add(-hour))
			if test.whole {
				expect.Equal(t, "begins", now.Add(-time.Second), changes)
			}
		})
	}
}

// TestEndOfAFreezeIsAChange: a freeze of all policies that is removed or shortened may let every policy delete where it applied.
func TestEndOfAFreezeIsAChange(t *testing.T) {
	longer, twice, elsewhere := freezing("f"), freezing("f"), freezing("f")
	longer.Freezes[0].To = now.Add(2 * hour)
	twice.Freezes = append(twice.Freezes, policy.Freeze{By: "f", From: now.Add(policy.Day), To: now.Add(policy.Week), All: true})
	elsewhere.Excluded = sets.New("team-b")
	everywhere, nowhere := []string{"", "team-a", "team-b"}, []string(nil)
	for name, test := range map[string]struct {
		was, is *policy.Policy
		want    []string
	}{
		"no change":            {freezing("f"), freezing("f"), nowhere},
		"it is removed":        {freezing("f"), nil, everywhere},
		"it is added":          {nil, freezing("f"), nowhere},
		"it is shortened":      {longer, freezing("f"), everywhere},
		"it is extended":       {freezing("f"), longer, nowhere},
		"another one is added": {freezing("f"), twice, nowhere},
		"it applies in fewer":  {freezing("f"), elsewhere, everywhere},
		"it applied in some":   {elsewhere, nil, []string{"", "team-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := policyOf("p", about(jobs, "jobs"))
			snapshot := func(f *policy.Policy) *policy.Snapshot {
				all := []*policy.Policy{p}
				if f != nil {
					all = append(all, f)
				}
				return policy.NewSnapshot(all, map[string]policy.Namespace{"team-a": {}, "team-b": {}}, policy.DefaultProtection())
			}
			expect.Equal(t, "scope", sets.New(test.want...), snapshot(test.is).Since(snapshot(test.was)).Scope(p))
		})
	}
}

// TestFreezeThatNoLongerSelectsANamespaceIsAChange there.
func TestFreezeThatNoLongerSelectsANamespaceIsAChange(t *testing.T) {
	p, f := policyOf("p", about(jobs, "jobs")), freezing("f")
	f.Namespaces = labels.SelectorFromSet(labels.Set{"audit": "true"})
	snapshot := func(label string) *policy.Snapshot {
		return policy.NewSnapshot([]*policy.Policy{p, f}, map[string]policy.Namespace{"team-a": {Labels: labels.Set{"audit": label}}, "team-b": {}}, policy.DefaultProtection())
	}
	expect.Equal(t, "scope", sets.New("team-a"), snapshot("false").Since(snapshot("true")).Scope(p))
	expect.Equal(t, "scope of a new freeze", sets.New[string](), snapshot("true").Since(snapshot("false")).Scope(p))
}

// TestPendingCountsWindowsAndFreezes: windows and freezes do not hide what a change deletes, and an opening is not a change.
func TestPendingCountsWindowsAndFreezes(t *testing.T) {
	monthly, night := loadedWindows(window("0 0 20 * *", "1h")), loadedWindows(window("0 22 * * *", "8h"))
	freeze := policy.Freeze{By: "p", From: now.Add(-hour), To: now.Add(30 * policy.Day)}
	waiting := func(options ...func(*policy.Evaluation)) policy.Evaluation {
		return says("a", append(options, unapproved)...)
	}
	held := func(r *policy.Evaluation) { r.Rule.Suspended = true }
	for name, test := range map[string]struct {
		is        policy.Evaluation
		was       []policy.Evaluation
		due, week int64
	}{
		"a new rule": {waiting(), nil, 1, 1},
		"a new rule whose window opens in three weeks":           {waiting(open(monthly)), nil, 0, 1},
		"a new rule in a freeze":                                 {waiting(frozen(freeze)), nil, 0, 1},
		"a new rule with windows at night":                       {waiting(open(night)), nil, 0, 1},
		"the same rule as before":                                {waiting(open(monthly)), evaluations(says("a", open(monthly))), 0, 0},
		"the same rule in a freeze":                              {waiting(frozen(freeze)), evaluations(says("a", frozen(freeze))), 0, 0},
		"a freeze is removed":                                    {waiting(), evaluations(says("a", frozen(freeze))), 1, 1},
		"windows at night are removed":                           {waiting(), evaluations(says("a", open(night))), 1, 1},
		"windows open earlier":                                   {waiting(open(night)), evaluations(says("a", open(monthly))), 0, 1},
		"a suspension ends, and the window opens in three weeks": {waiting(open(monthly)), evaluations(says("a", open(monthly), held)), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := policy.NewSnapshot(nil, nil, policy.DefaultProtection())
			test.is.Rule.Gate = &policy.ApprovalGate{Before: before}
			stats := policy.NewStats(now)
			stats.AddAfter(policy.Subject{}, evaluations(test.is), func(*policy.Snapshot) (policy.Subject, []policy.Evaluation) { return policy.Subject{}, test.was })
			pending := stats.Policies["p"].Pending
			expect.Equal(t, "due now", test.due, pending.Due)
			expect.Equal(t, "due within a week", test.week, pending.Week)
		})
	}
}

// TestDeferredCountsWhenItIsDeleted: status counts a deferred subject by the time of its deletion.
func TestDeferredCountsWhenItIsDeleted(t *testing.T) {
	night := loadedWindows(window("0 22 * * *", "8h"))
	stats := statsOf(policy.Subject{}, says("a", open(night), startsAt(moment(t, "2026-03-01T11:00:00Z"))))
	c := stats.Policies["p"].Count
	expect.Equal(t, "due", v1alpha1.DueCounts{Day: 1, Week: 1}, c.Due)
	expect.Equal(t, "next", moment(t, "2026-03-01T23:00:00Z"), c.NextDue)
	expect.Equal(t, "the counts change", moment(t, "2026-03-01T22:00:00Z"), stats.Changes())
	expect.Equal(t, "reasons", map[policy.Reason]int64{policy.Deferred: 1}, stats.Reasons)
}

func TestTimesForAgents(t *testing.T) {
	p := policyOf("p", enforced("p", "a"))
	p.Windows = loadedWindows(window("0 22 * * *", "8h", "Europe/Berlin"))
	windows, freezes := policy.NewSnapshot([]*policy.Policy{p, freezing("f")}, nil, policy.DefaultProtection()).Times(p)
	expect.Equal(t, "windows", []v1alpha1.Window{window("0 22 * * *", "8h", "Europe/Berlin")}, windows)
	expect.Equal(t, "freezes", []v1alpha1.Freeze{{From: metav1.NewTime(now), To: metav1.NewTime(now.Add(hour)), Reason: "audit"}}, freezes)
}
