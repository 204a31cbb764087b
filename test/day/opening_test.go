// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"fmt"
	"time"
)

// opening is a window in the model's words: it opens at a minute of the hours that are divisible by a number, by the local clock. The
// zero value means always open.
type opening struct {
	hours, minute int
	lasts         time.Duration
}

// spec is the window as a field of a policy.
func (o opening) spec() string {
	if o.hours == 0 {
		return ""
	}
	return fmt.Sprintf("\n  windows: [{schedule: %q, duration: %s, timeZone: %s}]", fmt.Sprintf("%d */%d * * *", o.minute, o.hours), o.lasts, time.Local)
}

// freeze is a freeze in the model's words, of the policy audit or of all policies. The zero value is none.
type freeze struct {
	from, to time.Time
	all      bool
}

func (f freeze) spec() string {
	if f.to.IsZero() {
		return ""
	}
	return fmt.Sprintf("\n  freezes: [{from: %q, to: %q, allPolicies: %v}]", f.from.UTC().Format(time.RFC3339), f.to.UTC().Format(time.RFC3339), f.all)
}

func (f freeze) contains(t time.Time) bool { return !t.Before(f.from) && t.Before(f.to) }

// alwaysOpen returns the plan without windows and freezes.
func (p plan) alwaysOpen() plan {
	p.jobsOpen, p.snapshotsOpen, p.freeze = opening{}, opening{}, freeze{}
	return p
}

// span is a time in which a window is open.
type span struct{ opens, closes time.Time }

// openTimes returns the times in which a window is open around this day. It looks at the local clock once a minute.
func (m *model) openTimes(o opening) (all []span) {
	if known := m.known[o]; known != nil {
		return known
	}
	const day = 24 * time.Hour
	today := time.Now().Truncate(day)
	for t := today.Add(-2 * day); t.Before(today.Add(3 * day)); t = t.Add(time.Minute) {
		switch local := t.Local(); {
		case local.Minute() != o.minute || local.Hour()%o.hours != 0:
		case len(all) > 0 && !all[len(all)-1].closes.Before(t): // the hour that occurs twice
			all[len(all)-1].closes = t.Add(o.lasts)
		default:
			all = append(all, span{t, t.Add(o.lasts)})
		}
	}
	m.known[o] = all
	return all
}

func (m *model) isInWindow(o opening, t time.Time) bool {
	if o.hours == 0 {
		return true
	}
	for _, s := range m.openTimes(o) {
		if !t.Before(s.opens) && t.Before(s.closes) {
			return true
		}
	}
	return false
}

// isOpen reports whether windows and freezes of a plan allow the deletion of a thing at a time.
func (m *model) isOpen(o *thing, p plan, t time.Time) bool {
	isAudited := o.kind == jobs && o.labels["audit"] == "true"
	switch {
	case p.freeze.contains(t) && (p.freeze.all || isAudited && p.auditEnforced()):
		return false
	case o.kind == jobs && p.jobsEnforced():
		return m.isInWindow(p.jobsOpen, t)
	case o.kind == snapshots:
		return m.isInWindow(p.snapshotsOpen, t)
	}
	return true
}

// deferred returns when a rule with a window deletes a thing that is due at a time. frozen says whether the freeze of the plan
// applies to the rule.
func (m *model) deferred(due time.Time, p plan, w opening, frozen bool) time.Time {
	if frozen {
		due = spread(due, p.freeze.from, p.freeze.to, p.freeze.to.Sub(p.freeze.from))
	}
	if w.hours == 0 {
		return due
	}
	all := m.openTimes(w)
	for i := 1; i < len(all); i++ {
		if closed := all[i-1].closes; !due.Before(closed) && due.Before(all[i].closes) {
			return spread(due, closed, all[i].opens, min(all[i].opens.Sub(closed), w.lasts/2))
		}
	}
	return due
}

// deferredJob returns when the rules of Jobs delete a Job whose TTL has ended by all of them at a time: each rule may defer it.
func (m *model) deferredJob(due time.Time, p plan, byJobs, byAudit bool) (at time.Time) {
	if byJobs {
		at = m.deferred(due, p, p.jobsOpen, p.freeze.all)
	}
	if byAudit {
		at = later(at, m.deferred(due, p, opening{}, true))
	}
	return at
}

// spread spreads what becomes due from the closing to the end of the spread over the spread.
func spread(due, closed, opens time.Time, lasts time.Duration) time.Time {
	if all := opens.Sub(closed) + lasts; !due.Before(closed) && due.Sub(closed) < all {
		return opens.Add(time.Duration(due.Sub(closed).Seconds() / all.Seconds() * float64(lasts)))
	}
	return due
}
