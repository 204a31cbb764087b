// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// For returns stats without counts, at the same time and with the same prices, for the subjects of one namespace.
func (t *Stats) For(namespace string) *Stats {
	s := NewStats(t.now)
	s.Prices = t.Prices
	if t.Teams[namespace] != nil {
		s.Teams[namespace] = Team{}
	}
	return s
}

// HoldsAt reports whether the counts are still the same at a later time if no subject and no rule has changed, and no window or
// freeze has begun or ended.
func (t *Stats) HoldsAt(now time.Time) bool {
	return !t.pending && (t.next.IsZero() || now.Before(t.next))
}

// Merge adds the counts of other subjects by the same rules. It keeps no part of o.
func (t *Stats) Merge(o *Stats) {
	t.next, t.pending = Soonest(t.next, o.next), t.pending || o.pending
	sum(&t.Reasons, o.Reasons)
	t.UncountedPods.Due += o.UncountedPods.Due
	t.UncountedPods.Overdue += o.UncountedPods.Overdue
	t.UncountedPods.Terminating += o.UncountedPods.Terminating
	for namespace, team := range o.Teams {
		for id, c := range team {
			if t.Teams[namespace] != nil {
				t.Teams[namespace].rule(id).Add(*c)
			}
		}
	}
	for name, stats := range o.Policies {
		t.policy(name).merge(stats)
	}
}

func (t *PolicyStats) merge(o *PolicyStats) {
	t.Add(o.Count)
	for namespace, c := range o.Pending.Namespaces {
		t.Pending.add(namespace, *c)
	}
	for name, r := range o.Rules {
		t.rule(name).merge(r)
	}
	t.Blocked.Subjects += o.Blocked.Subjects
	sum(&t.Blocked.By, o.Blocked.By)
	t.Blocked.Sample = t.Blocked.Sample.first(o.Blocked.Sample)
	sum(&t.Blocks, o.Blocks)
	sum(&t.Overridden, o.Overridden)
}

func (r *RuleStats) merge(o *RuleStats) {
	r.Add(o.Count)
	for _, sample := range o.Soonest {
		r.AddDue(sample)
	}
	for _, sample := range o.Failing {
		r.AddError(sample)
	}
	r.Distrusted.Outdated = unionOfFew(r.Distrusted.Outdated, o.Distrusted.Outdated)
	r.Distrusted.Exposed = unionOfFew(r.Distrusted.Exposed, o.Distrusted.Exposed)
	for reason, k := range o.Kept {
		r.addKept(reason, k.Objects, k.First...)
	}
}

// unionOfFew adds namespaces to a set, until it has too many to name them.
func unionOfFew(namespaces, more sets.Set[string]) sets.Set[string] {
	if namespaces == nil && len(more) > 0 {
		namespaces = sets.New[string]()
	}
	for namespace := range more {
		if len(namespaces) > v1alpha1.MaxDistrusted {
			break
		}
		namespaces.Insert(namespace)
	}
	return namespaces
}

// sum adds numbers to a map, which it makes if there are any.
func sum[K comparable](all *map[K]int64, more map[K]int64) {
	if *all == nil {
		*all = maps.Clone(more)
		return
	}
	for key, n := range more {
		(*all)[key] += n
	}
}
