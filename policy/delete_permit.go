// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"slices"
	"time"
)

// DeletePermit permits the deletion of one version of one subject because of one enforced rule. Only Decide issues permits, so
// that a dry run or a suspended policy can never delete. The zero DeletePermit permits nothing.
type DeletePermit struct {
	intent      Intent
	evaluations []Evaluation // of the rules that took part in the decision
}

// Intent describes the expected deletion of one version of one subject. It permits nothing: a deletion needs a DeletePermit.
type Intent struct {
	Subject Subject
	Rule    *Rule     // that decides
	Outcome string    // result of the rule's outcome expression; empty without one
	Size    Size      // of the subject, by that rule
	Owner   *Owner    // deleted instead of the subject, which garbage collection then deletes; nil if the subject itself is deleted
	Start   time.Time // of its time to live, by that rule
	// Observed is since when the process that decides has seen that the subject is due, without a gap. Only rules that make
	// snapshots have it; zero otherwise.
	Observed time.Time
	Due      time.Time
	Reason   Reason // why it is due: Expired or OverCapacity
}

// Valid reports whether the permit permits a deletion.
func (w DeletePermit) Valid() bool { return w.intent.Rule != nil }

// Subject is the version that was evaluated; only that version may be deleted.
func (w DeletePermit) Subject() Subject { return w.intent.Subject }

// Rule is the rule that decided; it says how to delete. It is nil for the zero DeletePermit.
func (w DeletePermit) Rule() *Rule { return w.intent.Rule }

// Due is when the subject became due.
func (w DeletePermit) Due() time.Time { return w.intent.Due }

// Reason is why the subject is due: Expired or OverCapacity.
func (w DeletePermit) Reason() Reason { return w.intent.Reason }

// Intent is the deletion that the permit permits.
func (w DeletePermit) Intent() Intent { return w.intent }

// WithObserved returns the same permit with the Observed of its Intent.
func (w DeletePermit) WithObserved(since time.Time) DeletePermit {
	w.intent.Observed = since
	return w
}

// Owner is deleted instead of the subject, which garbage collection then deletes. It is nil if the subject itself is deleted.
func (w DeletePermit) Owner() *Owner { return w.intent.Owner }

// Compares reports whether a rule that took part in the decision compares subjects with each other. Changes of other subjects can
// change the facts of such a rule.
func (w DeletePermit) Compares() bool {
	return slices.ContainsFunc(w.evaluations, func(r Evaluation) bool { return r.Rule.Ranks() })
}

// Covers returns why the permit does not permit the deletion of a target; nil if it does.
func (w DeletePermit) Covers(t Target) error {
	switch {
	case !w.Valid():
		return errNoPermit
	case !w.names(t):
		return errWrongTarget
	}
	return nil
}

// The errors of Covers.
var (
	errNoPermit    = errors.New("internal error: deletion without a permit")
	errWrongTarget = errors.New("internal error: the target is not the object that the permit names")
)

// names reports whether a target is the object that the permit permits to delete: the subject, or its owner in any version.
func (w DeletePermit) names(t Target) bool {
	if owner := w.Owner(); w.Rule().Owner {
		return owner != nil && t.UID == owner.UID && t.ResourceVersion != ""
	}
	return t.Is(TargetOf(w.Rule().Kind, w.Subject()))
}

// Upheld reports whether the decision is still to delete the subject. For each rule that took part, facts gives the current
// facts, or false if they have not changed.
func (w DeletePermit) Upheld(facts func(*Rule) (Facts, bool), now time.Time) bool {
	again := slices.Clone(w.evaluations)
	for i := range again {
		if by, differ := facts(again[i].Rule); differ {
			again[i].Facts = by
		}
	}
	v, _ := Decide(w.Subject(), again, now)
	return w.Valid() && v.Action == Delete
}

// Same reports whether both permits permit the deletion of the same version of a subject, by the same rule and in the same way.
func (w DeletePermit) Same(o DeletePermit) bool {
	a, b := w.intent, o.intent
	return w.Valid() && o.Valid() && a.Subject.UID == b.Subject.UID && a.Subject.ResourceVersion == b.Subject.ResourceVersion &&
		a.Rule.ID == b.Rule.ID && a.Rule.Kind == b.Rule.Kind && a.Rule.Propagation == b.Rule.Propagation &&
		a.Owner.same(b.Owner) && a.Rule.AllowUnfinished == b.Rule.AllowUnfinished &&
		a.Rule.AllowManaged == b.Rule.AllowManaged && a.Rule.Archive.Equal(b.Rule.Archive) && a.Rule.Snapshot.Equal(b.Rule.Snapshot)
}
