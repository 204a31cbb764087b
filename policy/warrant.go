package policy

import "time"

// Warrant permits the deletion of one version of one subject on the word of one enforced rule. Only Decide issues
// warrants, so nothing that a dry run or a suspended policy says can ever be carried out. The zero Warrant permits
// nothing.
type Warrant struct {
	intent Intent
	reason Reason
}

// Intent is the deletion of one version of one subject as it is to be expected. It permits nothing: that takes a Warrant.
type Intent struct {
	Subject Subject
	Rule    *Rule  // whose word counts
	Outcome string // what the rule's outcome expression gave; empty without one
	Owner   *Owner // what goes instead of the subject, and takes it along; nil when the subject itself goes
	Due     time.Time
}

// Valid reports whether the warrant permits anything.
func (w Warrant) Valid() bool { return w.intent.Rule != nil }

// Subject is the version that was judged; only that version may be deleted.
func (w Warrant) Subject() Subject { return w.intent.Subject }

// Rule is the rule that decided; it says how to delete. It is nil for the zero Warrant.
func (w Warrant) Rule() *Rule { return w.intent.Rule }

// Due is when the subject became due.
func (w Warrant) Due() time.Time { return w.intent.Due }

// Reason is why it is due: Expired or OverCapacity.
func (w Warrant) Reason() Reason { return w.reason }

// Intent is what carrying the warrant out means.
func (w Warrant) Intent() Intent { return w.intent }

// Owner is what goes instead of the subject, and takes it along; nil when the subject itself goes.
func (w Warrant) Owner() *Owner { return w.intent.Owner }

// Same reports whether both permit the deletion of the same version of a subject, on the word of the same rule in the
// same way.
func (w Warrant) Same(o Warrant) bool {
	a, b := w.intent, o.intent
	return w.Valid() && o.Valid() && a.Subject.UID == b.Subject.UID && a.Subject.ResourceVersion == b.Subject.ResourceVersion &&
		a.Rule.ID == b.Rule.ID && a.Rule.Kind == b.Rule.Kind && a.Rule.Propagation == b.Rule.Propagation &&
		a.Owner.same(b.Owner) && a.Rule.AllowUnfinished == b.Rule.AllowUnfinished
}
