package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Tallies counts subjects for the status of every policy about them. Its size depends on the rules, not on the number
// of subjects. Create it with NewTallies.
type Tallies struct {
	Policies map[string]*Tally // by policy name
	Reasons  map[Reason]int64  // subjects by the verdict of the rules in force

	now  time.Time
	next time.Time
}

// Tally is what one policy sees, each subject counted once.
type Tally struct {
	Count
	Rules map[string]*RuleTally
}

// RuleTally is what one rule sees.
type RuleTally struct {
	Count
	Soonest []v1alpha1.DueSample   // at most five, the soonest first
	Failing []v1alpha1.ErrorSample // at most three
}

// Count counts subjects.
type Count struct {
	Matched  int64 // selected
	Eligible int64
	Held     int64 // eligible, and kept by a hold
	Errors   int64 // an expression failed
	Due      v1alpha1.DueCounts
	NextDue  time.Time // zero when nothing will be due
}

const (
	soonestKept  = 5
	failingKept  = 3
	messageLimit = 256
)

// NewTallies makes empty tallies as of a time.
func NewTallies(now time.Time) *Tallies {
	return &Tallies{Policies: map[string]*Tally{}, Reasons: map[Reason]int64{}, now: now}
}

// Changes is when the counts change next without any subject changing; zero when never.
func (t *Tallies) Changes() time.Time { return t.next }

// Add counts one subject. The rulings are those of one Page, in its order.
//
// A policy in force counts as due what goes by the rules in force; a dry run counts what would go if it were in force
// beside them.
func (t *Tallies) Add(s Subject, rulings []Ruling) {
	base := combine(s, rulings, func(r *Rule) bool { return !r.dryRun() })
	verdict := base.verdict(s, t.now)
	if verdict.Reason != NotSelected {
		t.Reasons[verdict.Reason]++
	}
	for len(rulings) > 0 {
		name := rulings[0].Rule.ID.Policy
		n := 1
		for n < len(rulings) && rulings[n].Rule.ID.Policy == name {
			n++
		}
		t.addPolicy(name, s, rulings[:n], base)
		rulings = rulings[n:]
	}
}

// addPolicy counts a subject for one policy, whose rulings these are.
func (t *Tallies) addPolicy(name string, s Subject, rulings []Ruling, all voices) {
	dryRun := rulings[0].Rule.dryRun()
	var own Count
	for i := range rulings {
		r := &rulings[i]
		own.note(s, r)
		if dryRun {
			all.add(r.say(s))
		}
	}
	if own.Matched == 0 {
		return
	}
	tally := t.policy(name)
	verdict := all.verdict(s, t.now)
	for i := range rulings {
		if r := &rulings[i]; r.Facts.Selected {
			t.addRule(tally, s, r, verdict)
		}
	}
	own.flatten()
	if verdict.Action != Keep && slices.ContainsFunc(rulings, func(r Ruling) bool { return r.say(s).isDue() }) {
		t.due(&own, verdict.Due)
	}
	tally.merge(own)
}

func (t *Tallies) addRule(tally *Tally, s Subject, r *Ruling, verdict Verdict) {
	rule := tally.Rules[r.Rule.ID.Rule]
	if rule == nil {
		rule = &RuleTally{}
		tally.Rules[r.Rule.ID.Rule] = rule
	}
	var c Count
	c.note(s, r)
	if r.Facts.Err != nil {
		rule.Failing = keepFirst(rule.Failing, failingKept, compareErrors,
			v1alpha1.ErrorSample{Namespace: s.Namespace, Name: s.Name, Message: cut(r.Facts.Err.Error())})
	}
	if verdict.Action != Keep && r.say(s).isDue() {
		t.due(&c, verdict.Due)
		sample := v1alpha1.DueSample{Namespace: s.Namespace, Name: s.Name}
		sample.DueTime.Time = verdict.Due
		rule.Soonest = keepFirst(rule.Soonest, soonestKept, compareDue, sample)
	}
	rule.merge(c)
}

func (t *Tallies) policy(name string) *Tally {
	tally := t.Policies[name]
	if tally == nil {
		tally = &Tally{Rules: map[string]*RuleTally{}}
		t.Policies[name] = tally
	}
	return tally
}

// due counts one subject that is due at a time, and notes when that will count elsewhere.
func (t *Tallies) due(c *Count, due time.Time) {
	left := due.Sub(t.now)
	for _, window := range []struct {
		count *int64
		span  time.Duration
	}{{&c.Due.Now, 0}, {&c.Due.Hour, time.Hour}, {&c.Due.Day, Day}, {&c.Due.Week, Week}} {
		if left <= window.span {
			*window.count++
		} else if at := due.Add(-window.span); t.next.IsZero() || at.Before(t.next) {
			t.next = at
		}
	}
	c.NextDue = due
}

// note counts what one rule says about one subject.
func (c *Count) note(s Subject, r *Ruling) {
	if !r.Facts.Selected {
		return
	}
	c.Matched++
	if r.Facts.Err != nil {
		c.Errors++
	}
	if r.Facts.Eligible {
		c.Eligible++
		if s.Flags.Has(IsHeld) {
			c.Held++
		}
	}
}

// flatten makes a count of rulings about one subject a count of subjects.
func (c *Count) flatten() {
	c.Matched, c.Eligible, c.Held, c.Errors = min(c.Matched, 1), min(c.Eligible, 1), min(c.Held, 1), min(c.Errors, 1)
}

func (c *Count) merge(o Count) {
	c.Matched += o.Matched
	c.Eligible += o.Eligible
	c.Held += o.Held
	c.Errors += o.Errors
	c.Due.Now += o.Due.Now
	c.Due.Hour += o.Due.Hour
	c.Due.Day += o.Due.Day
	c.Due.Week += o.Due.Week
	if c.NextDue.IsZero() || (!o.NextDue.IsZero() && o.NextDue.Before(c.NextDue)) {
		c.NextDue = o.NextDue
	}
}

// keepFirst keeps the first n in order, so that samples do not depend on the order in which subjects are counted.
func keepFirst[S any](kept []S, n int, compare func(a, b S) int, sample S) []S {
	if len(kept) == n && compare(sample, kept[n-1]) >= 0 {
		return kept
	}
	at, _ := slices.BinarySearchFunc(kept, sample, compare)
	kept = slices.Insert(kept, at, sample)
	return kept[:min(len(kept), n)]
}

func compareDue(a, b v1alpha1.DueSample) int {
	return cmp.Or(a.DueTime.Time.Compare(b.DueTime.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func compareErrors(a, b v1alpha1.ErrorSample) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func cut(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit-3], "") + "..."
}
