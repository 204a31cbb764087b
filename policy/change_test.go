// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// configured is the configuration in TestChangeScopeIncludesFreedNamespaces: policy other, which may keep objects that policy p deletes, and
// namespace team-a.
type configured struct {
	other *policy.Policy // nil for none
	here  policy.Namespace
	p     *policy.Policy
}

// TestChangeScopeIncludesFreedNamespaces: where policy p may delete objects after a change that were kept before.
func TestChangeScopeIncludesFreedNamespaces(t *testing.T) {
	everywhere := []string{"", "bare", "team-a", "team-b"} // no policy reaches a protected namespace
	here, nowhere := []string{"team-a"}, []string(nil)
	quota := func(n int64) func(*configured) {
		return func(c *configured) {
			c.here.Quotas = map[string]int64{"jobs.batch": n}
			c.p.Rules[0].Capacity = policy.Capacity{ByQuota: true, Percent: 50}
		}
	}
	asks := func(c *configured) { c.p.Rules[0].Capacity = policy.Capacity{ByQuota: true, Percent: 50} }
	as := func(change func(r *policy.Rule)) func(*configured) {
		return func(c *configured) { change(c.other.Rules[0]) }
	}
	selects := func(tier string) func(*configured) {
		return func(c *configured) {
			c.other.Namespaces = selector("tier=" + tier)
			c.here.Labels = map[string]string{"tier": tier}
		}
	}
	excludes := func(names ...string) func(*configured) {
		return func(c *configured) { c.other.Excluded = sets.New(names...) }
	}
	withCapacity := func(ttl time.Duration) func(*configured) {
		return as(func(r *policy.Rule) { r.TTL, r.Capacity = ttl, policy.Capacity{Bounded: true, Max: 3} })
	}
	since := map[string]time.Time{"team-a": now}
	marksSince := func(in map[string]time.Time) func(r *policy.Rule) {
		return func(r *policy.Rule) { r.MarksSince, r.MarksSinceIn = now, in }
	}
	gone := func(c *configured) { c.other = nil }
	none := func(*configured) {}
	tests := map[string]struct {
		was, is func(*configured)
		want    []string
	}{
		"no change":                                 {none, none, nowhere},
		"a hold is removed":                         {func(c *configured) { c.here.Held = true }, none, here},
		"a hold is added":                           {none, func(c *configured) { c.here.Held = true }, nowhere},
		"a quota shrinks":                           {quota(10), quota(9), here},
		"a quota becomes known":                     {asks, quota(9), nowhere},
		"a quota becomes unknown":                   {quota(9), asks, nowhere},
		"the other is deleted":                      {none, gone, everywhere},
		"the other is created":                      {gone, none, nowhere},
		"the other was a dry run":                   {as(func(r *policy.Rule) { r.Mode = v1alpha1.DryRun }), gone, nowhere},
		"the other becomes a dry run":               {none, as(func(r *policy.Rule) { r.Mode = v1alpha1.DryRun }), everywhere},
		"the other is suspended":                    {none, as(func(r *policy.Rule) { r.Mode = v1alpha1.Suspend }), nowhere},
		"the other is enforced again":               {as(func(r *policy.Rule) { r.Mode = v1alpha1.Suspend }), none, everywhere},
		"the other is created again":                {none, func(c *configured) { c.other.UID = "v" }, everywhere},
		"the other's TTL is shorter":                {none, as(func(r *policy.Rule) { r.TTL = time.Minute }), everywhere},
		"the other's TTL is longer":                 {none, as(func(r *policy.Rule) { r.TTL = policy.Week }), nowhere},
		"the other gets a TTL":                      {withCapacity(policy.NeverTTL), withCapacity(0), everywhere},
		"the other loses its TTL":                   {withCapacity(0), withCapacity(policy.NeverTTL), everywhere},
		"marks of the other become invalid":         {as(marksSince(since)), as(marksSince(nil)), nowhere},
		"the other selects less":                    {none, func(c *configured) { c.other.Namespaces = selector("tier=ci") }, everywhere},
		"the other excludes more":                   {none, excludes("team-b"), everywhere},
		"the other excludes less":                   {excludes("team-b"), none, nowhere},
		"the other excluded a namespace":            {excludes("team-b"), gone, []string{"", "bare", "team-a"}},
		"the other targets another kind":            {as(func(r *policy.Rule) { r.Kind = pods }), gone, nowhere},
		"the other no longer selects the namespace": {selects("ci"), func(c *configured) { c.other.Namespaces = selector("tier=ci"); c.here.Labels = nil }, here},
		"a dry run no longer selects the namespace": {dry(selects("ci")), dry(func(c *configured) { c.other.Namespaces = selector("tier=ci"); c.here.Labels = nil }), nowhere},
		"the other loses permission":                {none, as(func(r *policy.Rule) { r.Unpermitted = true }), nowhere},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			snapshot := func(change func(*configured)) (*policy.Snapshot, *policy.Policy) {
				c := configured{other: policyOf("other", about(jobs, "jobs")), p: policyOf("p", about(jobs, "jobs"))}
				c.other.UID, c.p.UID = types.UID("u"), types.UID("p")
				change(&c)
				all := []*policy.Policy{c.p}
				if c.other != nil {
					all = append(all, c.other)
				}
				known := map[string]policy.Namespace{"team-a": c.here, "team-b": {}, "bare": {}, "kube-system": {}}
				return policy.NewSnapshot(all, known, policy.DefaultProtection()), c.p
			}
			before, _ := snapshot(test.was)
			after, p := snapshot(test.is)
			expect.Equal(t, "scope", sets.New(test.want...), after.Since(before).Scope(p))
		})
	}
}

func selector(text string) labels.Selector {
	s, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// dry makes the other policy a dry run, after another change.
func dry(change func(*configured)) func(*configured) {
	return func(c *configured) { change(c); c.other.Rules[0].Mode = v1alpha1.DryRun }
}

// TestPendingWeekIncludesTemporaryHolds: the worst case includes objects that are kept for a reason that can end without an
// administrator.
func TestPendingWeekIncludesTemporaryHolds(t *testing.T) {
	for name, test := range map[string]struct {
		flags      policy.Flags
		evaluation policy.Evaluation
		week       int64
	}{
		"nothing holds it":              {0, says("a", unapproved), 1},
		"it is held":                    {policy.IsHeld, says("a", unapproved), 1},
		"its Job has not counted it":    {policy.IsUncounted, says("a", unapproved), 1},
		"a namespace suspends the rule": {0, says("a", unapproved, suspendedHere), 1},
		"a namespace sets a longer TTL": {0, says("a", unapproved, living(2*policy.Week)), 1},
		"Kubernetes needs it":           {policy.IsBuiltIn, says("a", unapproved), 0},
		"it is being deleted":           {policy.IsTerminating, says("a", unapproved), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := statsOf(policy.Subject{Flags: test.flags}, test.evaluation).Policies["p"].Pending.Week
			expect.Equal(t, "deleted within a week at most", test.week, got)
		})
	}
}

// living sets a time to live by an override.
func living(ttl time.Duration) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) {
		r.Rule.Overrides = []*policy.Override{{Policy: "p", TTL: &ttl, InForce: true}}
	}
}

// TestQuotasThatBecomeKnownAreNoChange: unknown quotas limit nothing, so nothing waits for them.
func TestQuotasThatBecomeKnownAreNoChange(t *testing.T) {
	snapshot := func(quotas map[string]int64) *policy.Snapshot {
		return policy.NewSnapshot(nil, map[string]policy.Namespace{"team-a": {Quotas: quotas}}, policy.Protection{})
	}
	unknown, ten, nine := snapshot(nil), snapshot(map[string]int64{"jobs.batch": 10}), snapshot(map[string]int64{"jobs.batch": 9})
	if !ten.Since(unknown).None() || !unknown.Since(ten).None() || !ten.Since(ten).None() {
		t.Error("quotas that become known, or unknown, are a change")
	}
	if nine.Since(ten).None() {
		t.Error("a changed quota is not a change")
	}
}
