package policy

import (
	"slices"
	"time"
)

// DeletePermit permits the deletion of one version of one subject on the word of one enforced rule. Only Decide issues
// permits, so nothing that a dry run or a suspended policy says can ever be carried out. The zero DeletePermit permits
// nothing.
type DeletePermit struct {
	intent      Intent
	reason      Reason
	evaluations []Evaluation // of the rules that had a say
}

// Intent is the deletion of one version of one subject as it is to be expected. It permits nothing: that takes a DeletePermit.
type Intent struct {
	Subject Subject
	Rule    *Rule  // whose word counts
	Outcome string // what the rule's outcome expression gave; empty without one
	Owner   *Owner // what goes instead of the subject, and takes it along; nil when the subject itself goes
	Due     time.Time
}

// Valid reports whether the permit permits anything.
func (w DeletePermit) Valid() bool { return w.intent.Rule != nil }

// Subject is the version that was judged; only that version may be deleted.
func (w DeletePermit) Subject() Subject { return w.intent.Subject }

// Rule is the rule that decided; it says how to delete. It is nil for the zero DeletePermit.
func (w DeletePermit) Rule() *Rule { return w.intent.Rule }

// Due is when the subject became due.
func (w DeletePermit) Due() time.Time { return w.intent.Due }

// Reason is why it is due: Expired or OverCapacity.
func (w DeletePermit) Reason() Reason { return w.reason }

// Intent is what carrying the permit out means.
func (w DeletePermit) Intent() Intent { return w.intent }

// Owner is what goes instead of the subject, and takes it along; nil when the subject itself goes.
func (w DeletePermit) Owner() *Owner { return w.intent.Owner }

// Compares reports whether one of the rules that had a say compares subjects with each other: what becomes of others may
// change what it says.
func (w DeletePermit) Compares() bool {
	return slices.ContainsFunc(w.evaluations, func(r Evaluation) bool { return r.Rule.Ranks() })
}

// Upheld reports whether the subject would go still. Of each rule that had a say facts gives what it says by now, or false if
// that is what it said.
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

// Same reports whether both permit the deletion of the same version of a subject, on the word of the same rule in the
// same way.
func (w DeletePermit) Same(o DeletePermit) bool {
	a, b := w.intent, o.intent
	return w.Valid() && o.Valid() && a.Subject.UID == b.Subject.UID && a.Subject.ResourceVersion == b.Subject.ResourceVersion &&
		a.Rule.ID == b.Rule.ID && a.Rule.Kind == b.Rule.Kind && a.Rule.Propagation == b.Rule.Propagation &&
		a.Owner.same(b.Owner) && a.Rule.AllowUnfinished == b.Rule.AllowUnfinished &&
		a.Rule.AllowManaged == b.Rule.AllowManaged
}
