// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// defers reports whether the rule has windows or freezes.
func (r *Rule) defers() bool { return len(r.Freezes)+len(r.Windows) > 0 }

// moved gives the time at which the rule deletes a subject that becomes due at t; it is never earlier than t. It applies the freezes,
// then the windows of the policy, then those of each override. Windows of an override spread the result over the times at which they
// and all windows before them are open. Freezes and the last windows can only make the time later.
func (r *Rule) moved(t time.Time) time.Time {
	for _, f := range r.Freezes {
		t = f.period(t).move(t)
	}
	for i := range r.Windows {
		t = commonPeriod(r.Windows[:i+1], t).move(t)
	}
	return t
}

// moved gives the time at which all due votes allow the deletion: each rule defers the latest of their times, so that a subject that
// becomes due by one rule while the windows of another are closed is spread too. Subjects above a capacity have no such time.
func (all *votes) moved() time.Time {
	due := all.due.due
	if all.lasts.IsZero() || all.lasts.Equal(all.due.lasts) && len(all.deferring) < 2 && all.due.rule.defers() {
		return due
	}
	for _, r := range all.deferring {
		due = Latest(due, r.moved(all.lasts))
	}
	return due
}

// settle applies change until the time no longer changes. ok is false if it still changes after a hundred times.
func settle(t time.Time, change func(time.Time) time.Time) (last time.Time, ok bool) {
	const most = 100
	for range most {
		next := change(t)
		if next.Equal(t) {
			return t, true
		}
		t = next
	}
	return t, false
}

// openingOf gives the first time from t on at which the windows and freezes of all rules allow deletions. ok is false if there is
// none in the next hundred openings: then it gives a time before which there is none.
func openingOf(t time.Time, rules ...*Rule) (opens time.Time, ok bool) {
	return settle(t, func(t time.Time) time.Time {
		for _, r := range rules {
			for _, f := range r.Freezes {
				t = opening(f.opens, t)
			}
			for _, w := range r.Windows {
				t = opening(w.opens, t)
			}
		}
		return t
	})
}

// opened gives the last time up to t at which a window of the rules has opened or a freeze has ended.
func opened(t time.Time, rules ...*Rule) (last time.Time) {
	note := func(opens time.Time) {
		if !opens.After(t) {
			last = Latest(last, opens)
		}
	}
	for _, r := range rules {
		for _, f := range r.Freezes {
			note(f.To)
		}
		for _, w := range r.Windows {
			note(w.opens(t))
		}
	}
	return last
}

// freeze gives a rule with the freezes of other policies that apply to it in a namespace.
func (b *Snapshot) freeze(r *Rule, namespace string) *Rule {
	t := b.tenants[namespace]
	if r == nil || len(b.freezing) == 0 && (t == nil || t.freezes == 0 && t.frozen == nil) {
		return r
	}
	frozen := *r
	frozen.IfEnforced = b.freeze(r.IfEnforced, namespace)
	frozen.Freezes = slices.Clone(r.Freezes)
	for _, p := range b.freezing {
		if p.Name != r.ID.Policy && b.applies(p, namespace) {
			frozen.Freezes = append(frozen.Freezes, p.freezesOfAll()...)
		}
	}
	if mayFreeze := r.Namespace != "" || !r.Bounds.NoSuspend; mayFreeze {
		frozen.Freezes = append(frozen.Freezes, t.freezesExcept(r.ID.Policy)...)
	}
	slices.SortFunc(frozen.Freezes, Freeze.compare)
	return &frozen
}

// Reasons of a Deferral, for conditions of policies.
const (
	IsFrozen       = "Frozen"         // in a freeze
	OutsideWindows = "OutsideWindows" // no window is open
)

// Deferral says why windows or freezes do not allow deletions, and until when.
type Deferral struct {
	Reason string
	By     string    // the windows or the freeze, for users
	Until  time.Time // when deletions continue, or for Never, until when certainly not
	Never  bool      // no opening was found
}

// String is the deferral for users.
func (d *Deferral) String() string {
	if d.Never {
		return d.By + "; no time was found at which all windows are open"
	}
	return fmt.Sprintf("%s; deletions continue at %s", d.By, d.Until.UTC().Format(time.RFC3339))
}

// Deferral gives why the windows and freezes of the rule do not allow deletions at t; nil if they do.
func (r *Rule) Deferral(t time.Time) *Deferral {
	until, ok := openingOf(t, r)
	if until.Equal(t) {
		return nil
	}
	for _, f := range r.Freezes {
		if !isOpen(f.opens, t) {
			return &Deferral{IsFrozen, "freeze " + f.String(), until, !ok}
		}
	}
	i := slices.IndexFunc(r.Windows, func(w *Windows) bool { return !w.Open(t) })
	return &Deferral{OutsideWindows, fmt.Sprintf("windows of policy %s are closed: %s", r.Windows[i].By, r.Windows[i]), until, !ok}
}

// Deferral gives why a policy deletes nothing at t because of windows and freezes, or nil, and when that may change next; zero
// for never. It ignores freezes of other policies that apply only in some namespaces of the policy.
func (b *Snapshot) Deferral(p *Policy, t time.Time) (d *Deferral, changes time.Time) {
	r := p.times()
	if p.Windows != nil {
		changes = p.Windows.Closing(t).Add(-SendTime)
	}
	for _, other := range b.freezing {
		everywhere := other.Namespaces.Empty() && len(other.Excluded) == 0
		if other != p && (everywhere || p.Namespace != "" && b.applies(other, p.Namespace)) {
			r.Freezes = slices.Concat(r.Freezes, other.freezesOfAll())
		}
	}
	r.Freezes = slices.Concat(r.Freezes, b.tenants[p.Namespace].freezesExcept(p.Name))
	for _, f := range r.Freezes {
		if begins := f.From.Add(-SendTime); begins.After(t) {
			changes = Soonest(changes, begins)
		}
	}
	if d = r.Deferral(t); d != nil {
		changes = d.Until
	}
	return d, changes
}

// times is a rule with the windows and freezes of a policy.
func (p *Policy) times() *Rule {
	r := &Rule{Freezes: p.Freezes}
	if p.Windows != nil {
		r.Windows = []*Windows{p.Windows}
	}
	return r
}

// DefersAll reports whether the windows and freezes of a policy may defer deletions until a week after now, when a count of due
// subjects ends. A deletion is spread over a day at most.
func (p *Policy) DefersAll(now time.Time) bool {
	opens, _ := openingOf(now, p.times())
	return opens.After(now.Add(horizon - Day))
}

// freezesOfAll are the freezes that apply to the rules of all policies.
func (p *Policy) freezesOfAll() []Freeze {
	return slices.DeleteFunc(slices.Clone(p.Freezes), func(f Freeze) bool { return !f.All })
}

// Times are the windows of a ClusterRetentionPolicy as written, and the freezes of all policies that apply to its rules about
// cluster-scoped objects and images.
func (b *Snapshot) Times(p *Policy) (windows []v1alpha1.Window, freezes []v1alpha1.Freeze) {
	r := p.times()
	r.ID.Policy = p.Name
	r = b.freeze(r, "")
	for _, w := range r.Windows {
		for _, one := range w.List {
			windows = append(windows, v1alpha1.Window{Schedule: one.Schedule, Duration: FormatTTL(one.Duration), TimeZone: one.TimeZone})
		}
	}
	for _, f := range r.Freezes {
		freezes = append(freezes, v1alpha1.Freeze{From: metav1.NewTime(f.From), To: metav1.NewTime(f.To), Reason: f.Reason})
	}
	return windows, freezes
}

// DeferralOf says why windows or freezes of rules that find a subject eligible defer its deletion at t.
func DeferralOf(evaluations []Evaluation, t time.Time) string {
	for i := range evaluations {
		if r := &evaluations[i]; r.Facts.Eligible && !r.Rule.dryRun() {
			if d := r.Rule.Deferral(t); d != nil {
				return d.By
			}
		}
	}
	return "objects that became due while windows were closed or during a freeze are deleted one after the other from the next opening on"
}
