package policy

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ParseMarks reads annotation sunset.x-k8s.io/eligible-since: times by Rule.Mark. What cannot be read is no mark, and neither is
// what could not be written again: far west of Greenwich the year 9999 is 10000.
func ParseMarks(text string) map[string]time.Time {
	var written map[string]string
	if json.Unmarshal([]byte(text), &written) != nil {
		return nil
	}
	marks := make(map[string]time.Time, len(written))
	for mark, at := range written {
		t, err := time.Parse(time.RFC3339, at)
		if t = t.UTC(); err == nil && 0 <= t.Year() && t.Year() <= 9999 {
			marks[mark] = t
		}
	}
	return marks
}

// EligibleSincePatch permits writing the marks of one version of one subject. Only MarkingOf issues markings, on the word of rules
// that are enforced, so that a dry run never changes an object. The zero Marking permits nothing.
type EligibleSincePatch struct {
	subject Subject
	marks   map[string]time.Time
	rules   []*Rule
}

// Valid reports whether there is anything to write.
func (m EligibleSincePatch) Valid() bool { return m.marks != nil }

// Subject is the version that may be written on.
func (m EligibleSincePatch) Subject() Subject { return m.subject }

// Rules are those on whose word something changes.
func (m EligibleSincePatch) Rules() []*Rule { return m.rules }

// Annotation is the value to write; empty when the annotation is to go.
func (m EligibleSincePatch) Annotation() string {
	if len(m.marks) == 0 {
		return ""
	}
	written := make(map[string]string, len(m.marks))
	for mark, at := range m.marks {
		written[mark] = at.Format(time.RFC3339Nano) // a mark that somebody wrote with a fraction must not move earlier
	}
	// A map of strings can always be written; its keys come out sorted.
	text, _ := json.Marshal(written)
	return string(text)
}

// NeedsEligibleSincePatch reports whether the subject is not marked as it should be.
func NeedsEligibleSincePatch(s Subject, evaluations []Evaluation) bool {
	if s.Flags.Has(IsTerminating) {
		return false
	}
	for i := range evaluations {
		if evaluations[i].isMismarked() {
			return true
		}
	}
	return false
}

// EligibleSincePatchOf gives all marks that the subject should carry as of now, if it does not: one for each rule without startTime
// that finds it eligible. A mark that is right stays as it is, and those of rules that are no more are gone.
func EligibleSincePatchOf(s Subject, evaluations []Evaluation, now time.Time) EligibleSincePatch {
	if !NeedsEligibleSincePatch(s, evaluations) {
		return EligibleSincePatch{}
	}
	m := EligibleSincePatch{subject: s, marks: map[string]time.Time{}}
	for i := range evaluations {
		r := &evaluations[i]
		if r.isMismarked() {
			m.rules = append(m.rules, r.Rule)
		}
		switch {
		case !r.marks():
		case r.isMismarked() && r.isEligible():
			m.marks[r.Rule.Mark] = roundUp(now)
		case r.isUnmarked() || r.Facts.Start.IsZero():
		case r.isEligible() || !r.isSure():
			m.marks[r.Rule.Mark] = r.Facts.Start
		}
	}
	return m
}

// marks reports whether the rule is one that marks.
func (r *Evaluation) marks() bool { return r.Rule.Mark != "" && !r.Rule.Invalid() }

// isEligible reports whether the rule is sure that the subject is eligible.
func (r *Evaluation) isEligible() bool {
	return r.Facts.Selected && r.Facts.Eligible && r.Facts.Err == nil
}

// isSure reports whether what the rule says of the subject is known: no mark comes or goes before.
func (r *Evaluation) isSure() bool { return r.Known && !r.Facts.InDoubt() }

// writesMarks reports whether the rule may write on objects.
func (r *Rule) writesMarks() bool {
	return r.Mode == v1alpha1.Enforce && !r.suspended() && !r.Unapproved && !r.Unpermitted
}

// isMismarked reports whether a rule that may write finds a mark missing, or one that should not be there.
func (r *Evaluation) isMismarked() bool {
	if !r.marks() || !r.isSure() || !r.Rule.writesMarks() {
		return false
	}
	if r.isEligible() {
		return r.isUnmarked()
	}
	return !r.Facts.Start.IsZero()
}

// isUnmarked reports whether a rule that marks has no mark that counts: one from before nobody saw to its marks does not.
func (r *Evaluation) isUnmarked() bool {
	since := r.Rule.MarksSince
	return r.Facts.Estimated || r.Facts.Marked && !since.IsZero() && r.Facts.Start.Before(since)
}

// Distrusted are the namespaces in which the next leader must not believe the marks of a rule. The zero value is none.
type Distrusted struct {
	Outdated sets.Set[string] // an object there carries a mark that does not count
	Exposed  sets.Set[string] // an object there carries a mark that could not be removed now, should it come to be used
}

// note takes what a rule says of a subject that carries its mark.
func (d *Distrusted) note(s Subject, r *Evaluation) {
	into := &d.Exposed
	switch {
	case s.Flags.Has(IsTerminating):
		return
	case r.outdated():
		into = &d.Outdated
	case r.Rule.writesMarks():
		return
	}
	if *into == nil {
		*into = sets.New[string]()
	}
	if len(*into) <= v1alpha1.MaxDistrusted {
		into.Insert(s.Namespace)
	}
}

// Namespaces are those of d, sorted; v1alpha1.AllNamespaces alone where they are too many, or the objects are in none.
func (d Distrusted) Namespaces() []string {
	all := d.Outdated.Union(d.Exposed)
	if len(all) > v1alpha1.MaxDistrusted || all.HasAny("", v1alpha1.AllNamespaces) {
		return []string{v1alpha1.AllNamespaces}
	}
	return sets.List(all)
}

// carriesMark reports whether the object itself has a mark of the rule.
func (r *Evaluation) carriesMark() bool {
	switch {
	case r.Facts.Estimated: // Start is not that of the mark
		return r.Facts.Outdated
	default:
		return !r.Facts.Start.IsZero()
	}
}

// outdated reports whether the mark that the object carries does not count.
func (r *Evaluation) outdated() bool {
	since := r.Rule.MarksSince
	return r.Facts.Outdated || !r.isEligible() && !r.Facts.InDoubt() || !since.IsZero() && r.Facts.Start.Before(since)
}

// roundUp gives the next whole second, so that what is written is never earlier than what it stands for.
func roundUp(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); whole.Before(t) {
		return whole.Add(time.Second).UTC()
	}
	return t.UTC()
}
