// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// openings are the windows and freezes that apply to a rule about one object. Of each list of windows, one must be open.
type openings struct {
	windows []*timetable
	freezes []v1alpha1.Freeze
}

// openingsOf returns the windows and freezes of a rule, of its overrides, and of policies that freeze all rules.
func (j *checker) openingsOf(r *rule, s *history.State, o order) openings {
	all := openings{freezes: slices.Clone(r.policy.spec.Freezes)}
	if windows := r.policy.spec.Windows; len(windows) > 0 {
		all.windows = append(all.windows, j.timetableOf(windows))
	}
	teamsMay := !r.clustered() || ptr.Deref(r.allowed().AllowSuspend, true)
	for _, override := range r.settings(o.teams) {
		if teamsMay && len(override.Windows) > 0 {
			all.windows = append(all.windows, j.timetableOf(override.Windows))
		}
	}
	for _, p := range append(o.cluster[:len(o.cluster):len(o.cluster)], o.teams...) {
		for _, f := range p.spec.Freezes {
			if f.AllPolicies && p != r.policy && (p.clustered() || teamsMay) && j.applies(p, s, o) {
				all.freezes = append(all.freezes, f)
			}
		}
	}
	slices.SortFunc(all.freezes, func(a, b v1alpha1.Freeze) int { return cmp.Or(a.From.Compare(b.From.Time), a.To.Compare(b.To.Time)) })
	return all
}

// closed returns why a deletion is not allowed at a time; empty if it is.
func (o openings) closed(at time.Time) string {
	for _, f := range o.freezes {
		if !at.Before(f.From.Time) && at.Before(f.To.Time) {
			return fmt.Sprintf("a freeze lasts from %s to %s", stamp(f.From.Time), stamp(f.To.Time))
		}
	}
	for _, t := range o.windows {
		if !t.isOpen(at) {
			return fmt.Sprintf("no window of %v is open", t.windows)
		}
	}
	return ""
}

// staysOpen reports whether deletions are allowed in each second of a period.
func (o openings) staysOpen(from, to time.Time) bool {
	for at := from; !at.After(to); at = at.Add(time.Second) {
		if o.closed(at) != "" {
			return false
		}
	}
	return true
}

// moved returns when Sunset deletes an object that is due at a time: then, or later within the spread of each freeze. Each list of windows
// spreads it over the time in which the list is open together with the lists before it.
func (o openings) moved(due time.Time) (time.Time, error) {
	for _, f := range o.freezes {
		due = spread(due, f.From.Time, f.To.Time, f.To.Sub(f.From.Time))
	}
	for i := range o.windows {
		closed, opens, err := around(o.windows[:i+1], due)
		if err != nil || opens.From.IsZero() {
			return due, err
		}
		begin := closed
		if i > 0 { // the lists before have moved due to a time at which they are open
			_, before, err := around(o.windows[:i], closed)
			if err != nil {
				return due, err
			}
			begin = latest(closed, before.From)
		}
		due = spread(due, begin, opens.From, min(opens.From.Sub(closed), opens.first/2))
	}
	return due, nil
}

const longestSpread = 24 * time.Hour

// spread maps due times from the closing to the end of the spread to the spread, in proportion, rounded up to
// seconds: so two due times may become one. Other times do not change.
func spread(due, closed, opens time.Time, length time.Duration) time.Time {
	length = min(length, longestSpread).Truncate(time.Second)
	end := opens.Add(length)
	if length <= 0 || due.Before(closed) || !due.Before(end) {
		return due
	}
	share := float64(due.Sub(closed)) / float64(end.Sub(closed))
	moved := opens.Add(time.Duration(share * float64(length))).Truncate(time.Millisecond)
	return moved.Add(time.Second - 1).Truncate(time.Second)
}
