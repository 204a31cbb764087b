// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// openings are the windows and freezes that apply to a rule about one object. Of each list of windows, one must be open.
type openings struct {
	windows [][]v1alpha1.Window
	freezes []v1alpha1.Freeze
}

func (o openings) none() bool { return len(o.windows)+len(o.freezes) == 0 }

// openingsOf returns the windows and freezes of a rule, of its overrides, and of policies that freeze all rules.
func (j *checker) openingsOf(r *rule, s *history.State, o order) openings {
	all := openings{freezes: r.policy.spec.Freezes}
	if len(r.policy.spec.Windows) > 0 {
		all.windows = append(all.windows, r.policy.spec.Windows)
	}
	teamsMay := !r.clustered() || ptr.Deref(r.allowed().AllowSuspend, true)
	for _, override := range r.settings(o.teams) {
		if teamsMay && len(override.Windows) > 0 {
			all.windows = append(all.windows, override.Windows)
		}
	}
	for _, p := range append(o.cluster[:len(o.cluster):len(o.cluster)], o.teams...) {
		for _, f := range p.spec.Freezes {
			if f.AllPolicies && p != r.policy && (p.clustered() || teamsMay) && j.applies(p, s, o) {
				all.freezes = append(all.freezes, f)
			}
		}
	}
	return all
}

// closed returns why a deletion is not allowed at a time; empty if it is.
func (o openings) closed(at time.Time) string {
	for _, f := range o.freezes {
		if !at.Before(f.From.Time) && at.Before(f.To.Time) {
			return fmt.Sprintf("a freeze lasts from %s to %s", stamp(f.From.Time), stamp(f.To.Time))
		}
	}
	for _, windows := range o.windows {
		if !anyOpen(windows, at) {
			return fmt.Sprintf("no window of %v is open", windows)
		}
	}
	return ""
}

// anyOpen reports whether a window is open. A window that cannot be read makes the rule invalid, so it is not open here.
func anyOpen(windows []v1alpha1.Window, at time.Time) bool {
	for _, w := range windows {
		zone := w.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		schedule, err := cron.ParseStandard("TZ=" + zone + " " + w.Schedule)
		duration, wrong := optionalDuration(w.Duration)
		if err == nil && wrong == nil && duration != nil && !schedule.Next(at.Add(-*duration)).After(at) {
			return true
		}
	}
	return false
}
