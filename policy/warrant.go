package policy

import "time"

// Warrant permits the deletion of one version of one subject on the word of one enforced rule. Only Decide issues
// warrants, so nothing that a dry run or a suspended policy says can ever be carried out. The zero Warrant permits
// nothing.
type Warrant struct {
	subject Subject
	rule    *Rule
	due     time.Time
	reason  Reason
	owner   *Owner
}

// Valid reports whether the warrant permits anything.
func (w Warrant) Valid() bool { return w.rule != nil }

// Subject is the version that was judged; only that version may be deleted.
func (w Warrant) Subject() Subject { return w.subject }

// Rule is the rule that decided; it says how to delete. It is nil for the zero Warrant.
func (w Warrant) Rule() *Rule { return w.rule }

// Due is when the subject became due.
func (w Warrant) Due() time.Time { return w.due }

// Reason is why it is due: Expired or OverCapacity.
func (w Warrant) Reason() Reason { return w.reason }

// Owner is what goes instead of the subject, and takes it along; nil when the subject itself goes.
func (w Warrant) Owner() *Owner { return w.owner }

// Same reports whether both permit the deletion of the same version of a subject, on the word of the same rule in the
// same way.
func (w Warrant) Same(o Warrant) bool {
	return w.Valid() && o.Valid() && w.subject.UID == o.subject.UID && w.subject.ResourceVersion == o.subject.ResourceVersion &&
		w.rule.ID == o.rule.ID && w.rule.Kind == o.rule.Kind && w.rule.Propagation == o.rule.Propagation &&
		w.owner.same(o.owner) && w.rule.AllowUnfinished == o.rule.AllowUnfinished
}
