// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Stats counts subjects for the status of every policy that selects them. Its size depends on the rules, not on the number of
// subjects. Create it with NewStats.
type Stats struct {
	Policies map[string]*PolicyStats // by policy name
	Reasons  map[Reason]int64        // subjects by the verdict of the rules in force
	Teams    map[string]Team         // by namespace; Add counts only for namespaces in the map

	UncountedPods UncountedPods

	// Prices gives the costs of storage; nil for none.
	Prices *Prices

	bare    bareRules
	waiting []Evaluation // a buffer
	now     time.Time
	next    time.Time // when the counts change even if no subject changes; zero for never
	pending bool      // rules wait for approval; what they would delete within a week changes all the time
}

// PolicyStats are the counts of one policy. Each subject counts once.
type PolicyStats struct {
	Count
	Pending PendingStats
	Rules   map[string]*RuleStats
	Blocked Blocked          // due subjects of this policy that other policies keep
	Blocks  map[string]int64 // due subjects of other policies that this one keeps, by policy name
	// Overridden are, by namespace, the subjects that would be deleted if no override suspended rules of this policy.
	Overridden map[string]int64
}

// Was gives a subject with its evaluations as if another snapshot were in force. The evaluations are empty if they are unknown.
// They are valid until the next call.
type Was func(snapshot *Snapshot) (Subject, []Evaluation)

// RuleStats are the counts of one rule.
type RuleStats struct {
	Count
	Soonest    []v1alpha1.DueSample   // at most five, the earliest first
	Failing    []v1alpha1.ErrorSample // at most three
	Distrusted Distrusted
	Kept       map[Reason]Kept // for a rule in force, by the reasons of Lasting
}

// Kept counts the eligible objects that a rule keeps for a reason.
type Kept struct {
	Objects int64
	First   []string // at most three, as NAMESPACE/NAME
}

// Count counts subjects.
type Count struct {
	Matched  int64 // selected
	Eligible int64
	Held     int64 // eligible, and kept by a hold
	Errors   int64 // an expression failed
	Doubted  int64 // the rule reads references, and those to it are unknown
	Excess   int64 // eligible, and above the capacity
	// Estimated counts due subjects whose time to live Sunset counts without a mark on the object.
	Estimated int64
	Due       v1alpha1.DueCounts
	NextDue   time.Time // zero if no subject will be due

	DueStorage  Amounts // of the due subjects
	KeptStorage Amount  // of the eligible subjects without a due time
}

const (
	// SoonestKept is the maximum number of samples with the earliest due times.
	SoonestKept = 5
	// FailingKept is the maximum number of samples of errors.
	FailingKept  = 3
	messageLimit = 256
)

// NewStats makes empty stats at a time.
func NewStats(now time.Time) *Stats {
	return &Stats{Policies: map[string]*PolicyStats{}, Reasons: map[Reason]int64{}, Teams: map[string]Team{}, bare: bareRules{}, now: now}
}

// Changes is the next time at which the counts change without a change of a subject; zero for never.
func (t *Stats) Changes() time.Time { return t.next }

// Add counts one subject. The evaluations are those of one Page, in its order.
//
// For a policy in force, due counts the deletions by the rules in force. For a dry run, or a policy that waits for approval, it
// counts the deletions if the policy were in force in addition to them.
func (t *Stats) Add(s Subject, evaluations []Evaluation) { t.AddAfter(s, evaluations, nil) }

// AddAfter is Add for a caller that knows the rules in force before the changes that wait for approval.
func (t *Stats) AddAfter(s Subject, evaluations []Evaluation, was Was) {
	base := combine(s, evaluations, t.now, inForce)
	verdict := base.verdict(s, t.now)
	if verdict.Reason != NotSelected {
		t.Reasons[verdict.Reason]++
	}
	t.addUncountedPod(s, base)
	team := t.Teams[s.Namespace]
	if team != nil {
		t.addTeam(team, s, evaluations)
	}
	for policy := range byPolicy(evaluations) {
		t.addPolicy(s, evaluations, policy, base, was)
	}
	for i := range evaluations { // also for subjects that a rule no longer selects
		if r := &evaluations[i]; r.marks() && r.carriesMark() {
			t.policy(r.Rule.ID.Policy).rule(r.Rule.ID.Rule).Distrusted.note(s, r)
		}
	}
}

// byPolicy yields the evaluations of one policy at a time.
func byPolicy(evaluations []Evaluation) iter.Seq[[]Evaluation] {
	return func(yield func([]Evaluation) bool) {
		for len(evaluations) > 0 {
			n := 1
			for n < len(evaluations) && evaluations[n].Rule.ID.Policy == evaluations[0].Rule.ID.Policy {
				n++
			}
			if !yield(evaluations[:n]) {
				return
			}
			evaluations = evaluations[n:]
		}
	}
}

// supposing gives the verdict on a subject as if the policy with these evaluations, among all, were in force. base is the result
// of the rules in force.
func supposing(s Subject, all, policy []Evaluation, base votes, now time.Time) Verdict {
	first := policy[0].Rule
	switch {
	case slices.ContainsFunc(policy, func(r Evaluation) bool { return r.Rule.Unapproved && (r.Facts.Selected || !r.Known) }):
		return IfApproved(s, all, now)
	case first.dryRun():
		for i := range policy {
			base.add(policy[i].vote(&s, now, supposed))
		}
	}
	return base.verdict(s, now)
}

// addPolicy counts a subject for one policy.
func (t *Stats) addPolicy(s Subject, all, policy []Evaluation, base votes, was Was) {
	var own Count
	for i := range policy {
		own.note(s, &policy[i])
	}
	if own.Matched == 0 {
		return
	}
	verdict := supposing(s, all, policy, base, t.now)
	t.changes(verdict)
	stats := t.policy(policy[0].Rule.ID.Policy)
	due := false
	for i := range policy {
		if r := &policy[i]; r.Facts.Selected {
			due = t.addRule(stats.rule(r.Rule.ID.Rule), s, r, verdict) || due
		}
	}
	own.flatten()
	if storage := t.Prices.OfLargest(policy); due {
		t.due(&own, verdict.Due, storage)
	} else {
		own.KeptStorage = storage
	}
	if slices.ContainsFunc(policy, func(r Evaluation) bool { return r.Rule.Unapproved && !r.Rule.Invalid() && r.Facts.Selected }) {
		change := t.change(s, all, policy, was)
		change.AllDue = v1alpha1.ApprovalCounts{Now: own.Due.Now, Week: own.Due.Week}
		stats.Pending.add(s.Namespace, change)
		t.pending = true
	}
	stats.Add(own)
	t.addBlocked(s, policy, base)
	t.addOverridden(s, policy)
}

// quietBy is when the quiet periods of the evaluations end, and not before now. Subjects that are due then count as deleted by a change,
// like those that are due now.
func quietBy(evaluations []Evaluation, now time.Time) time.Time {
	for i := range evaluations {
		if notBefore := evaluations[i].Facts.NotBefore; notBefore.After(now) {
			now = notBefore
		}
	}
	return now
}

// addRule counts a subject for one rule that selects it, and reports whether the rule makes it due.
func (t *Stats) addRule(rule *RuleStats, s Subject, r *Evaluation, verdict Verdict) (due bool) {
	var c Count
	c.note(s, r)
	if r.Facts.failed() {
		rule.AddError(v1alpha1.ErrorSample{Namespace: s.Namespace, Name: s.Name, Message: r.Facts.Err.Error()})
	}
	vote := r.vote(&s, t.now, supposed)
	kept := vote.reason
	if vote.isDue() && verdict.Reason == NoCommonWindow {
		kept = NoCommonWindow
	}
	if slices.Contains(lasting, kept) && inForce(r.Rule) == acting {
		rule.addKept(kept, 1, strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"))
	}
	due = verdict.Action != Keep && vote.isDue()
	if due {
		t.due(&c, verdict.Due, t.Prices.ofRule(r))
		if r.Facts.Estimated {
			c.Estimated++
		}
		sample := v1alpha1.DueSample{Namespace: s.Namespace, Name: s.Name, Owner: verdict.Owner.String()}
		sample.DueTime.Time = verdict.Due
		rule.AddDue(sample)
	} else {
		c.KeptStorage = t.Prices.ofRule(r)
	}
	rule.Add(c)
	return due
}

func (t *Stats) policy(name string) *PolicyStats {
	stats := t.Policies[name]
	if stats == nil {
		stats = &PolicyStats{Rules: map[string]*RuleStats{}}
		t.Policies[name] = stats
	}
	return stats
}

// rule gives the stats of one rule.
func (t *PolicyStats) rule(name string) *RuleStats {
	r := t.Rules[name]
	if r == nil {
		r = &RuleStats{}
		t.Rules[name] = r
	}
	return r
}

// changes records that the counts change when a verdict does.
func (t *Stats) changes(v Verdict) {
	for _, at := range []time.Time{v.Due, v.Again} {
		if at.After(t.now) {
			t.next = Soonest(t.next, at)
		}
	}
}

// due counts one subject that is due at a time, and records when the counts will change because of it.
func (t *Stats) due(c *Count, due time.Time, storage Amount) {
	left := due.Sub(t.now)
	for _, window := range []struct {
		count   *int64
		storage *Amount
		span    time.Duration
	}{
		{&c.Due.Now, &c.DueStorage.Now, 0},
		{&c.Due.Hour, &c.DueStorage.Hour, time.Hour},
		{&c.Due.Day, &c.DueStorage.Day, Day},
		{&c.Due.Week, &c.DueStorage.Week, Week},
	} {
		if left <= window.span {
			*window.count++
			*window.storage = storage
		} else {
			t.next = Soonest(t.next, due.Add(-window.span))
		}
	}
	c.NextDue = due
}

// note counts the result of one rule for one subject.
func (c *Count) note(s Subject, r *Evaluation) {
	if !r.Facts.Selected {
		return
	}
	c.Matched++
	switch {
	case r.Facts.failed():
		c.Errors++
	case r.Facts.Err != nil:
		c.Doubted++
	}
	if r.Facts.Eligible {
		c.Eligible++
		if r.Rank.Excess {
			c.Excess++
		}
		if s.Flags.under(r.Rule).HasHold() {
			c.Held++
		}
	}
}

// flatten turns a count of evaluations of one subject into a count of subjects.
func (c *Count) flatten() {
	c.Matched, c.Eligible, c.Held = min(c.Matched, 1), min(c.Eligible, 1), min(c.Held, 1)
	c.Errors, c.Excess, c.Doubted = min(c.Errors, 1), min(c.Excess, 1), min(c.Doubted, 1)
}

// Add adds another count.
func (c *Count) Add(o Count) {
	c.Matched += o.Matched
	c.Eligible += o.Eligible
	c.Held += o.Held
	c.Errors += o.Errors
	c.Doubted += o.Doubted
	c.Excess += o.Excess
	c.Estimated += o.Estimated
	c.Due, c.NextDue = c.Due.Plus(o.Due), Soonest(c.NextDue, o.NextDue)
	c.DueStorage, c.KeptStorage = c.DueStorage.Plus(o.DueStorage), c.KeptStorage.Plus(o.KeptStorage)
}
