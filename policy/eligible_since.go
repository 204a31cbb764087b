// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ParseMarks reads the marks in annotation sunset-k8s.io/eligible-since: times by Rule.Mark. It ignores a value that it cannot
// read, and a time that could not be written again: in UTC, the year 9999 of a western time zone can be 10000.
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

// EligibleSincePatch permits writing the marks of one version of one subject. Only EligibleSincePatchOf issues patches, and only
// for enforced rules, so that a dry run never changes an object. The zero EligibleSincePatch permits nothing.
type EligibleSincePatch struct {
	subject Subject
	marks   map[string]time.Time
	rules   []*Rule
}

// Valid reports whether there is a change to write.
func (m EligibleSincePatch) Valid() bool { return m.marks != nil }

// Subject is the version that may be changed.
func (m EligibleSincePatch) Subject() Subject { return m.subject }

// Rules are the rules that require a change.
func (m EligibleSincePatch) Rules() []*Rule { return m.rules }

// Annotation is the value to write; empty if the annotation must be removed.
func (m EligibleSincePatch) Annotation() string {
	if len(m.marks) == 0 {
		return ""
	}
	written := make(map[string]string, len(m.marks))
	for mark, at := range m.marks {
		written[mark] = at.Format(time.RFC3339Nano) // an edited mark with a fraction of a second must not move earlier
	}
	// A map of strings can always be encoded; its keys are sorted.
	text, _ := json.Marshal(written)
	return string(text)
}

// NeedsEligibleSincePatch reports whether, at now, a mark of the subject is missing, must be moved to a later start, or must be removed.
func NeedsEligibleSincePatch(s Subject, evaluations []Evaluation, now time.Time) bool {
	if s.Flags.Has(IsTerminating) {
		return false
	}
	for i := range evaluations {
		if evaluations[i].isMismarked(now) {
			return true
		}
	}
	return false
}

// NextEligibleSincePatch returns the first time after now at which a mark of the subject must be moved to its start, which is too far
// ahead at now; zero if there is none. Until then, NeedsEligibleSincePatch changes only with the facts and the rules.
func NextEligibleSincePatch(s Subject, evaluations []Evaluation, now time.Time) (next time.Time) {
	if s.Flags.Has(IsTerminating) {
		return next
	}
	for i := range evaluations {
		r := &evaluations[i]
		if moved := r.movedAt(); r.writesMarks() && r.isEligible() && moved.After(now) {
			next = Soonest(next, moved)
		}
	}
	return next
}

// EligibleSincePatchOf gives all marks that the subject must carry at now: one for each rule without startTime that finds it
// eligible. It is not valid if the subject carries these marks already. A correct mark does not change, an EarlierMark is moved to
// the start, and marks of rules that no longer exist are removed.
func EligibleSincePatchOf(s Subject, evaluations []Evaluation, now time.Time) EligibleSincePatch {
	if !NeedsEligibleSincePatch(s, evaluations, now) {
		return EligibleSincePatch{}
	}
	m := EligibleSincePatch{subject: s, marks: map[string]time.Time{}}
	for i := range evaluations {
		r := &evaluations[i]
		mismarked := r.isMismarked(now)
		if mismarked {
			m.rules = append(m.rules, r.Rule)
		}
		switch {
		case !r.marks():
		case mismarked && r.isEligible():
			m.marks[r.Rule.Mark] = r.nextMark(now)
		case r.isUnmarked() || r.Facts.Start.IsZero():
		case r.isEligible() || !r.isSure():
			m.marks[r.Rule.Mark] = r.carriedMark()
		}
	}
	return m
}

// nextMark is the mark that replaces a missing, invalid or too early one.
func (r *Evaluation) nextMark(now time.Time) time.Time {
	if r.isUnmarked() {
		return RoundUp(now, time.Second)
	}
	return r.Facts.Start
}

// carriedMark is the mark that the object has.
func (r *Evaluation) carriedMark() time.Time {
	if r.Facts.EarlierMark.IsZero() {
		return r.Facts.Start
	}
	return r.Facts.EarlierMark
}

// marks reports whether the rule writes marks, in any mode.
func (r *Evaluation) marks() bool { return r.Rule.Mark != "" && !r.Rule.Invalid() }

// isEligible reports whether the rule finds the subject eligible without an error.
func (r *Evaluation) isEligible() bool {
	return r.Facts.Selected && r.Facts.Eligible && r.Facts.Err == nil
}

// isSure reports whether all facts of the rule about the subject are known. Until then, no mark is added or removed.
func (r *Evaluation) isSure() bool { return r.Known && !r.Facts.InDoubt() }

// writesMarks reports whether the rule may write on objects now.
func (r *Rule) writesMarks() bool {
	return r.Mode == v1alpha1.Enforce && !r.suspended() && !r.Unapproved && !r.Unpermitted
}

// writesMarks reports whether the rule may write a mark on the subject now.
func (r *Evaluation) writesMarks() bool { return r.marks() && r.isSure() && r.Rule.writesMarks() }

// isMismarked reports whether a rule that may write finds that a mark is missing, too early, or must be removed.
func (r *Evaluation) isMismarked(now time.Time) bool {
	if !r.writesMarks() {
		return false
	}
	if r.isEligible() {
		return r.isUnmarked() || r.isMarkedEarly(now)
	}
	return !r.Facts.Start.IsZero()
}

// isUnmarked reports whether a rule that marks has no valid mark. A mark from before MarksSince is invalid.
func (r *Evaluation) isUnmarked() bool {
	since := r.Rule.MarksSince
	return r.Facts.Estimated || r.Facts.Marked && !since.IsZero() && r.Facts.Start.Before(since)
}

// maxMarkAhead is how far in the future a mark may be when Sunset writes it. Clocks may differ by seconds; a clock that is wrong by hours
// must not keep the object for hours.
const maxMarkAhead = 30 * time.Second

// movedAt is when the mark must be moved to the start, so that the start stays the same if the condition Unused is removed; zero if
// the mark is at the start.
func (r *Evaluation) movedAt() time.Time {
	if r.Facts.EarlierMark.IsZero() {
		return time.Time{}
	}
	return r.Facts.Start.Add(-maxMarkAhead)
}

// isMarkedEarly reports whether the mark must be moved now.
func (r *Evaluation) isMarkedEarly(now time.Time) bool {
	return !r.Facts.EarlierMark.IsZero() && !r.movedAt().After(now)
}

// Distrusted are the namespaces in which the next leader must ignore the marks of a rule. The zero value has no namespaces.
type Distrusted struct {
	Outdated sets.Set[string] // an object there carries an invalid mark
	Exposed  sets.Set[string] // an object there carries a mark that cannot be removed now if the object is used again
}

// note records the facts of a rule about a subject that carries its mark.
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

// Namespaces are the namespaces of d, sorted. If there are too many, or an object is cluster-scoped, the result is only
// v1alpha1.AllNamespaces.
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
	case r.Facts.Estimated: // Start is not the time of the mark
		return r.Facts.Outdated
	default:
		return !r.Facts.Start.IsZero()
	}
}

// outdated reports whether the mark that the object carries is invalid.
func (r *Evaluation) outdated() bool {
	since := r.Rule.MarksSince
	return r.Facts.Outdated || !r.Facts.EarlierMark.IsZero() || !r.isEligible() && !r.Facts.InDoubt() || !since.IsZero() && r.Facts.Start.Before(since)
}
