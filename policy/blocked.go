// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Blocked counts the subjects that are due by the rules of one policy, and that a rule of another policy keeps.
type Blocked struct {
	Subjects int64
	By       map[Blocker]int64
	Sample   BlockedSample // the first of them
}

// Blocker is a rule that keeps subjects that are due by another policy, with the reason.
type Blocker struct {
	Rule   RuleID
	Reason Reason
}

// BlockedSample is one subject that is due by a rule and kept by another.
type BlockedSample struct {
	Rule      *Rule // by which it is due
	Namespace string
	Name      string
}

// Most gives at most n blockers. Blockers that fail or are stopped come before those with an intended reason (see
// v1alpha1.IsChosen). In both groups, the blocker that keeps the most subjects comes first.
func (b *Blocked) Most(n int) []Blocker {
	return most(b.By, n, func(a, o Blocker) int {
		switch chosen := v1alpha1.IsChosen(string(a.Reason)); {
		case chosen == v1alpha1.IsChosen(string(o.Reason)):
			return 0
		case chosen:
			return 1
		default:
			return -1
		}
	}, func(a, o Blocker) int {
		return cmp.Or(a.Rule.Compare(o.Rule), strings.Compare(string(a.Reason), string(o.Reason)))
	})
}

// Blocking gives at most n policies whose subjects this policy keeps. The policy with the most such subjects comes first.
func (t *PolicyStats) Blocking(n int) []string {
	return most(t.Blocks, n, func(string, string) int { return 0 }, strings.Compare)
}

// most gives the first n keys by sort, then by count, then by name.
func most[K comparable](counts map[K]int64, n int, sort, name func(a, b K) int) []K {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(sort(a, b), cmp.Compare(counts[b], counts[a]), name(a, b))
	})
	return all[:min(len(all), n)]
}

// addBlocked counts a subject that would be deleted by the rules of one policy alone, and that a rule of another policy keeps,
// or whose windows never open together with its own. base is the result of all rules in force.
func (t *Stats) addBlocked(s Subject, own []Evaluation, base votes) {
	name, by := own[0].Rule.ID.Policy, base.keep
	if by.rule == nil && base.verdict(s, t.now).Reason == NoCommonWindow {
		by = vote{rule: base.deferringOther(name), reason: NoCommonWindow}
	}
	if by.rule == nil || by.rule.ID.Policy == name {
		return
	}
	alone := combine(s, own, t.now, inForce)
	v := alone.verdict(s, t.now)
	t.changes(v)
	if v.Action != Delete && (by.reason != NoCommonWindow || v.Reason != Deferred) {
		return
	}
	b := &t.policy(name).Blocked
	if b.By == nil {
		b.By = map[Blocker]int64{}
	}
	b.Subjects++
	b.By[Blocker{by.rule.ID, by.reason}]++
	b.Sample = b.Sample.first(BlockedSample{alone.due.rule, s.Namespace, s.Name})
	other := t.policy(by.rule.ID.Policy)
	if other.Blocks == nil {
		other.Blocks = map[string]int64{}
	}
	other.Blocks[name]++
}

// deferringOther is the first rule of another policy that finds the subject due and has windows or freezes; nil for none.
func (all *votes) deferringOther(policy string) *Rule {
	for _, r := range all.deferring {
		if r.ID.Policy != policy {
			return r
		}
	}
	return nil
}

// first returns the first of two samples by namespace and name. A sample without a rule is none.
func (s BlockedSample) first(o BlockedSample) BlockedSample {
	if s.Rule == nil || o.Rule != nil && cmp.Or(strings.Compare(o.Namespace, s.Namespace), strings.Compare(o.Name, s.Name)) < 0 {
		return o
	}
	return s
}

// addOverridden counts a subject that would be deleted by the rules of one policy alone, if no override suspended any of them.
func (t *Stats) addOverridden(s Subject, own []Evaluation) {
	overridden := func(r *Rule) bool { return r.Suspended && r.Mode == v1alpha1.Enforce }
	if !slices.ContainsFunc(own, func(r Evaluation) bool { return r.Facts.Selected && overridden(r.Rule) }) {
		return
	}
	alone := combine(s, own, t.now, func(r *Rule) part {
		if overridden(r) {
			return resumed
		}
		return inForce(r)
	})
	v := alone.verdict(s, t.now)
	t.changes(v)
	if v.Action != Delete {
		return
	}
	stats := t.policy(own[0].Rule.ID.Policy)
	if stats.Overridden == nil {
		stats.Overridden = map[string]int64{}
	}
	stats.Overridden[s.Namespace]++
}
