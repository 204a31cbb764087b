// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// order is the configuration in effect at a moment: the policies that Sunset saw, and the namespace of an object.
type order struct {
	cluster   []*policy
	teams     []*policy      // of the namespace
	namespace *history.State // nil for cluster-scoped objects
	from      int64          // the first revision at which permissions may have been checked
	revision  int64          // at which the objects of the kind are ranked
	quiet     time.Time      // at the end: since when eligible objects must be marked; zero before the end
}

// vote is the result of one rule for one object.
type vote struct {
	rule    *rule
	keep    string    // reason to keep; empty if it does not keep
	due     time.Time // zero for none; windows and freezes make it later
	lasts   time.Time // due without windows and freezes; zero for none, and above the capacity
	opens   openings
	closed  string // why they allow no deletion now; empty if they do
	unknown error
}

// verdict is the decision about an object.
type verdict struct {
	deleted bool
	why     string // reason to keep
	promise Promise
	due     time.Time
	by      *rule      // the deciding rule
	opens   []openings // of all rules that give a due time
	unknown error      // why it cannot be checked
}

// rules returns the rules that select an object.
func (j *checker) rules(s *history.State, o order) []*rule {
	var all []*rule
	for _, p := range append(slices.Clone(o.cluster), o.teams...) {
		if !j.applies(p, s, o) || !p.hasVote() {
			continue
		}
		for _, r := range p.rules {
			if r.kind.GroupKind() == s.GroupVersionKind().GroupKind() && r.selector.Matches(labels.Set(s.GetLabels())) {
				all = append(all, r)
			}
		}
	}
	return all
}

// applies reports whether a policy applies to the namespace of an object.
func (j *checker) applies(p *policy, s *history.State, o order) bool {
	name := s.GetNamespace()
	switch {
	case !p.clustered():
		return p.namespace == name && !j.isProtectedNamespace(name)
	case name == "":
		return true
	case j.isProtectedNamespace(name), slices.Contains(p.spec.ExcludeNamespaces, name), o.namespace == nil:
		return false
	default:
		return p.selector.Matches(labels.Set(o.namespace.GetLabels()))
	}
}

// voteOf evaluates a rule for an object.
func (j *checker) voteOf(r *rule, s *history.State, o order, now time.Time) vote {
	all := r.settings(o.teams)
	kept := func(why string) vote { return vote{rule: r, keep: why} }
	if r.kind.Version != s.GroupVersionKind().Version {
		return vote{rule: r, unknown: fmt.Errorf("%w %s at version %s", errUnsupported, r.kind.Kind, r.kind.Version)}
	}
	if r.invalid != nil {
		return kept("the rule is invalid: " + r.invalid.Error())
	}
	if !r.clustered() && !j.isPermitted(r, s, o.from, o.revision) {
		return kept("its ServiceAccount lacks permissions")
	}
	f := j.facts(r, s, o.revision)
	switch {
	case f.err != nil && isUnknown(f.err):
		return vote{rule: r, unknown: f.err}
	case f.err != nil:
		return kept("an expression fails: " + f.err.Error())
	case !f.eligible:
		return vote{rule: r}
	case r.spec.Mode == v1alpha1.Suspend, r.suspendedBy(all):
		return kept("suspended")
	case r.StartTime != "" && f.start.IsZero():
		return vote{rule: r}
	case isManaged(s) && !r.allowsManaged():
		return kept("it is managed by another controller")
	case r.deletesOwner() && controllerIn(s.Object) == nil:
		return kept("the rule deletes its owner, but it has none")
	case r.StartTime == "" && f.start.IsZero() && (o.quiet.IsZero() || j.ranks(s, o)):
		return kept("it has no mark")
	case r.StartTime == "" && f.start.IsZero():
		f.start = j.unmarked(r, s, o)
	}
	return j.timed(r, s, o, f, now)
}

// timed returns when a rule deletes an object that it finds eligible.
func (j *checker) timed(r *rule, s *history.State, o order, f facts, now time.Time) vote {
	place := j.rankOf(r, s, o)
	if place.unknown != nil || place.newest {
		return vote{rule: r, unknown: place.unknown, keep: "among the newest"}
	}
	soonest, err := j.soonest(r, s, o.revision)
	if err != nil {
		return vote{rule: r, unknown: err}
	}
	opens := j.openingsOf(r, s, o)
	given := vote{rule: r, opens: opens, closed: opens.closed(now)}
	ttl := r.lifetime(s, f.ttl, r.settings(o.teams))
	if ttl != never {
		given.lasts = latest(f.start.Add(ttl), soonest)
		given.due, given.unknown = opens.moved(given.lasts)
	}
	if place.excess {
		given.lasts = time.Time{}
	}
	switch {
	case ttl == never && r.TTLExpression != "":
		return vote{rule: r, keep: "never due"}
	case place.excess && (ttl == never || given.due.After(now)):
		given.due = latest(now, soonest)
	}
	return given
}

// isUnknown also compares the text, because cel-go does not always wrap the error of a function.
func isUnknown(err error) bool {
	return errors.Is(err, errUnsupported) || strings.Contains(err.Error(), errUnsupported.Error())
}

// combine combines the results of all rules: an object is deleted if at least one rule gives a due time, no rule keeps it, and
// the latest due time has passed.
func combine(says []vote, now time.Time) verdict {
	v := verdict{why: "no rule allows its deletion", promise: Allowed}
	for _, s := range says {
		if s.keep != "" && s.unknown == nil {
			return verdict{why: fmt.Sprintf("rule %s keeps it: %s", s.rule.id(), s.keep), promise: Allowed, by: s.rule}
		}
	}
	for _, s := range says {
		if s.unknown != nil {
			return verdict{unknown: s.unknown, why: s.unknown.Error(), promise: Allowed}
		}
		later := s.due.After(v.due) || s.due.Equal(v.due) && v.by != nil && s.rule.id() < v.by.id()
		if !s.due.IsZero() && (v.by == nil || later) {
			v = verdict{deleted: true, due: s.due, by: s.rule}
		}
	}
	v.opens = opensOf(says)
	if v.due, v.unknown = v.spread(says); v.unknown != nil {
		return verdict{unknown: v.unknown, why: v.unknown.Error(), promise: Allowed}
	}
	for _, s := range says {
		if v.deleted && !s.due.IsZero() && s.closed != "" && !v.due.After(now) {
			return verdict{why: fmt.Sprintf("rule %s does not allow its deletion at %s: %s", s.rule.id(), stamp(now), s.closed), promise: NotEarly, by: s.rule}
		}
	}
	if v.deleted && v.due.After(now) {
		v.deleted, v.promise = false, NotEarly
		v.why = fmt.Sprintf("it is due at %s by rule %s, but not yet at %s", stamp(v.due), v.by.id(), stamp(now))
	}
	return v
}

// spread returns the latest time at which a rule deletes an object: each rule defers the latest due time of all rules.
func (v verdict) spread(says []vote) (time.Time, error) {
	due, last := v.due, time.Time{}
	for _, s := range says {
		last = latest(last, s.lasts)
	}
	for _, o := range v.opens {
		if last.IsZero() {
			break
		}
		moved, err := o.moved(last)
		if err != nil {
			return due, err
		}
		due = latest(due, moved)
	}
	return due, nil
}

// opensOf returns the windows and freezes of all rules that give a due time.
func opensOf(says []vote) (all []openings) {
	for _, s := range says {
		if !s.due.IsZero() {
			all = append(all, s.opens)
		}
	}
	return all
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// decide returns the decision about an object itself. Reasons to keep it regardless of rules come first.
func (j *checker) decide(s *history.State, o order, now time.Time) verdict {
	if v, kept := j.flagged(s, o, false); kept {
		return v
	}
	v := combine(j.votes(s, o, now), now)
	if v.deleted && v.by.deletesOwner() {
		return verdict{why: fmt.Sprintf("rule %s deletes the owner, not the object", v.by.id()), promise: Allowed, by: v.by}
	}
	return v
}

func (j *checker) votes(s *history.State, o order, now time.Time) []vote {
	var all []vote
	for _, r := range j.rules(s, o) {
		all = append(all, j.voteOf(r, s, o, now))
	}
	return all
}

// flagged returns whether an object is kept regardless of rules, and why.
func (j *checker) flagged(s *history.State, o order, byOwner bool) (verdict, bool) {
	kept := func(p Promise, why string) (verdict, bool) { return verdict{promise: p, why: why}, true }
	switch {
	case isTerminating(s):
		return kept(NotTwice, "it was terminating")
	case isHeld(s, byOwner):
		return kept(HeldStays, "it was held")
	case isUncounted(s):
		return kept(Counted, "the Job controller had not counted it")
	case isMirror(s):
		return kept(Untouched, "it is a mirror Pod")
	case j.isProtectedKind(s.GroupVersionKind().GroupKind()):
		return kept(Untouched, "its kind is protected")
	case j.isProtectedNamespace(s.GetNamespace()):
		return kept(Untouched, "its namespace is protected")
	case o.namespace != nil && hasHold(o.namespace):
		return kept(HeldStays, "its namespace was held")
	case o.namespace != nil && isTerminating(o.namespace):
		return kept(Untouched, "its namespace was terminating")
	}
	return verdict{}, false
}
