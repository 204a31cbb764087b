package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Blocked counts the subjects that are due by the rules of one policy, and that a rule of another policy keeps.
type Blocked struct {
	Subjects int64
	By       map[Blocker]int64
	Sample   BlockedSample // the first of them
}

// Blocker is a rule that keeps subjects which are due by another policy, and why.
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

// Most are the blockers of at most n rules, those that keep the most subjects first.
func (b *Blocked) Most(n int) []Blocker {
	return most(b.By, n, func(a, b Blocker) int {
		return cmp.Or(a.Rule.Compare(b.Rule), strings.Compare(string(a.Reason), string(b.Reason)))
	})
}

// Blocking are at most n policies of which this one keeps subjects, those of which it keeps the most first.
func (t *Tally) Blocking(n int) []string { return most(t.Blocks, n, strings.Compare) }

func most[K comparable](counts map[K]int64, n int, compare func(a, b K) int) []K {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), compare(a, b)) })
	return all[:min(len(all), n)]
}

// addBlocked counts a subject that would go by the rules of one policy alone, and that a rule of another policy keeps. base is what
// all rules in force say.
func (t *Tallies) addBlocked(s Subject, own []Ruling, base voices) {
	name, by := own[0].Rule.ID.Policy, base.keep
	if by.rule == nil || by.rule.ID.Policy == name {
		return
	}
	alone := combine(s, own, t.now, inForce)
	if alone.verdict(s, t.now).Action != Delete {
		return
	}
	b := &t.policy(name).Blocked
	if b.By == nil {
		b.By = map[Blocker]int64{}
	}
	b.Subjects++
	b.By[Blocker{by.rule.ID, by.reason}]++
	if first := (BlockedSample{alone.due.rule, s.Namespace, s.Name}); b.Sample.Rule == nil || first.compare(b.Sample) < 0 {
		b.Sample = first
	}
	other := t.policy(by.rule.ID.Policy)
	if other.Blocks == nil {
		other.Blocks = map[string]int64{}
	}
	other.Blocks[name]++
}

func (s BlockedSample) compare(o BlockedSample) int {
	return cmp.Or(strings.Compare(s.Namespace, o.Namespace), strings.Compare(s.Name, o.Name))
}
