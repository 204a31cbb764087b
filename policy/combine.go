// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// Evaluation is the result of one rule for one subject.
type Evaluation struct {
	Rule  *Rule
	Facts Facts
	Rank  RankResult // rank of the subject among the others, for a rule that ranks
	Known bool       // false until the rule's facts are known: the rule then keeps the subject
}

// Decide gives the decision about a subject by the rules in force. Dry-run rules take no part. The DeletePermit permits exactly
// the deletion in the verdict, or nothing if the verdict is not to delete.
//
// A subject is deleted if at least one rule finds it due, no rule keeps it, the latest due time has passed, and it is not
// terminating, held, uncounted, pinned or in use. The windows and freezes of all rules that find it due must allow it. The order of the
// evaluations does not matter.
func Decide(s Subject, evaluations []Evaluation, now time.Time) (Verdict, DeletePermit) {
	c := combine(s, evaluations, now, inForce)
	v := c.verdict(s, now)
	if v.Action != Delete {
		return v, DeletePermit{}
	}
	return v, DeletePermit{intent: intentOf(s, evaluations, c.deciding().rule, v), evaluations: voting(evaluations)}
}

// voting are the evaluations of rules in force that select the subject. If a verdict deletes, all of them are known.
func voting(evaluations []Evaluation) []Evaluation {
	all := make([]Evaluation, 0, len(evaluations))
	for i := range evaluations {
		if r := &evaluations[i]; inForce(r.Rule) == acting && r.Facts.Selected {
			all = append(all, *r)
		}
	}
	return all
}

// PredictIntent gives the deletion that Decide will permit at a later time if nothing changes until then; ok is false if there is
// none.
func PredictIntent(s Subject, evaluations []Evaluation, at time.Time) (i Intent, ok bool) {
	c := combine(s, evaluations, at, inForce)
	v := c.verdict(s, at)
	if v.Action != Delete {
		return Intent{}, false
	}
	return intentOf(s, evaluations, c.deciding().rule, v), true
}

// intentOf is the deletion of a subject by one of the rules, with the verdict to delete it.
func intentOf(s Subject, evaluations []Evaluation, rule *Rule, v Verdict) Intent {
	i := Intent{Subject: s, Rule: rule, Start: v.Start, Due: v.Due, Reason: v.Reason}
	for j := range evaluations {
		if evaluations[j].Rule == rule {
			i.Outcome, i.Size = evaluations[j].Facts.Outcome, evaluations[j].Facts.Size
			if rule.Owner {
				i.Owner = evaluations[j].Facts.Owner
			}
		}
	}
	return i
}

// Forecast gives the decision about a subject if the named policy, a dry run or one that waits for approval, were enforced in
// addition to the rules in force. Other dry runs take no part. It gives no DeletePermit, because a forecast must not delete.
func Forecast(s Subject, evaluations []Evaluation, policyName string, now time.Time) Verdict {
	c := combine(s, evaluations, now, func(r *Rule) part {
		if r.ID.Policy == policyName {
			return supposed
		}
		return inForce(r)
	})
	return c.verdict(s, now)
}

// IfApproved gives the decision about a subject if all pending approvals were given, because a user may approve them together.
func IfApproved(s Subject, evaluations []Evaluation, now time.Time) Verdict {
	c := combine(s, evaluations, now, ifApproved)
	return c.verdict(s, now)
}

// part says how a rule takes part in a decision.
type part int

const (
	silent   part = iota // takes no part
	acting               // as it is
	supposed             // as if it were enforced and approved
	resumed              // as if no override suspended it
)

// inForce gives the actual part of each rule.
func inForce(r *Rule) part {
	if r.dryRun() {
		return silent
	}
	return acting
}

// ifApproved gives the part of each rule after all pending approvals.
func ifApproved(r *Rule) part {
	if r.Unapproved {
		return supposed
	}
	return inForce(r)
}

// votes are the results of the rules for one subject: the deciding vote of each sort.
type votes struct {
	keep    vote // the first reason to keep, in the order of ranks
	due     vote // the latest due
	nothing vote // the first reason of the rules that neither keep nor delete

	expires   time.Time // when all due votes are due, without windows and freezes
	lasts     time.Time // the latest of the times at which the TTLs of due votes end
	deferring []*Rule   // the rules of due votes with windows or freezes
	backups   []vote    // the other due votes whose rules back up what they delete
}

type vote struct {
	rule    *Rule
	reason  Reason
	start   time.Time
	ttl     time.Duration
	expires time.Time // when it is due without windows and freezes
	lasts   time.Time // when it is due because of the TTL, without windows and freezes; zero above the capacity
	due     time.Time
	owner   *Owner
	excess  bool // due because of the capacity
}

// isDue reports whether the rule gives a due time. Otherwise the vote has a reason.
func (v vote) isDue() bool { return v.rule != nil && v.reason == "" }

// isDoubt reports whether the rule keeps because something is unknown, which can change at any time.
func (v vote) isDoubt() bool {
	return slices.Contains([]Reason{Stale, ReferencesUnknown, IsForbidden}, v.reason)
}

func combine(s Subject, evaluations []Evaluation, now time.Time, partOf func(*Rule) part) votes {
	var all votes
	for i := range evaluations {
		if as := partOf(evaluations[i].Rule); as != silent {
			all.add(evaluations[i].vote(&s, now, as))
		}
	}
	return all
}

func (all *votes) add(v vote) {
	switch {
	case v.rule == nil:
	case v.isDue():
		other := all.due
		if all.due = later(other, v); all.due.rule != v.rule {
			other = v
		}
		all.expires, all.lasts = Latest(all.expires, v.expires), Latest(all.lasts, v.lasts)
		if v.rule.defers() {
			all.deferring = append(slices.Clip(all.deferring), v.rule)
		}
		if other.rule != nil && other.rule.backupRank() > 0 { // none for most objects: only one rule finds them due
			all.backups = append(slices.Clip(all.backups), other)
		}
	case rank(v.reason) < rank(Waiting):
		all.keep = earlierReason(all.keep, v)
	default:
		all.nothing = earlierReason(all.nothing, v)
	}
}

// vote is the result of one rule. A vote without a rule means that the rule does not select the subject. KeepsAtLeastLike relies
// on the order of the reasons up to IsUnapproved.
func (r *Evaluation) vote(s *Subject, now time.Time, as part) vote {
	f := &r.Facts
	v := vote{rule: r.Rule}
	switch {
	case r.Rule.Unpermitted:
		v.reason = IsForbidden // for every object, so as not to disclose what the account may not read
	case !r.Known:
		v.reason = Stale
	case !f.Selected:
		return vote{}
	case f.failed():
		v.reason = EvaluationFailed
	case r.Rule.Invalid():
		v.reason = RuleInvalid
	case f.Err != nil:
		v.reason = ReferencesUnknown
	case !f.Eligible:
		v.reason = NotEligible
	case r.Rule.suspended() && as != resumed:
		v.reason = IsSuspended
	case r.Rule.Unapproved && as != supposed:
		v.reason = IsUnapproved
	case f.Start.IsZero():
		v.reason = NoStartTime
	case s.Flags.Manager() != "" && !r.Rule.AllowManaged:
		v.reason = s.Flags.Manager()
	case s.Flags.Has(IsRecreated):
		v.reason = KeptRecreated
	case r.Rank.Newest:
		v.reason = KeptNewest
	case f.Unpullable && !r.Rule.Images.AllowUnpullable:
		v.reason = Unpullable
	case r.Rule.Owner && f.Owner == nil:
		v.reason = NoOwner
	case r.isUnmarked() && as != supposed:
		v.reason = Unmarked
	default:
		r.time(s, now, &v)
	}
	return v
}

// time sets when a subject is due, if no other reason of the rule keeps it.
func (r *Evaluation) time(s *Subject, now time.Time, v *vote) {
	v.start = r.Facts.Start
	if v.start.Before(s.Created) {
		v.start = s.Created
	}
	if r.Rule.Owner {
		v.owner = r.Facts.Owner
	}
	v.ttl = r.Rule.lifetime(s, &r.Facts).TTL
	if v.ttl >= 0 {
		v.expires = Latest(addTime(v.start, v.ttl), r.soonest())
		v.due = r.Rule.moved(v.expires)
	}
	if v.ttl >= 0 && !r.Rank.Excess {
		v.lasts = v.expires
	}
	switch {
	case v.ttl < 0 && r.Rule.hasTTL():
		v.reason = NeverDue
	case r.Rank.Excess && (v.ttl < 0 || v.due.After(now)):
		v.expires, v.excess = Latest(now, r.soonest()), true
		v.due = v.expires
	case v.ttl < 0:
		v.reason = WithinCapacity
	}
}

// soonest is the earliest time at which the rule allows the deletion; zero for any time.
func (r *Evaluation) soonest() time.Time {
	if r.Rule.OnNodes() {
		return addTime(r.Facts.FirstSeen, r.Rule.Images.MinAge)
	}
	return r.Facts.NotBefore
}

func (all *votes) verdict(s Subject, now time.Time) Verdict {
	v, by := all.unflagged(now)
	if by == nil {
		return v
	}
	if reason := flagged(s.Flags.under(by)); reason != "" {
		v.Action, v.Reason = Keep, reason
	}
	return v
}

// unflagged is the verdict without the flags, and the rule that decides, or nil if no rule selects the subject.
func (all *votes) unflagged(now time.Time) (Verdict, *Rule) {
	switch {
	case all.keep.rule != nil:
		return Verdict{Reason: all.keep.reason, Rule: all.keep.rule.ID}, all.keep.rule
	case all.due.rule != nil:
		return all.whenDue(now), all.deciding().rule
	case all.nothing.rule != nil:
		return Verdict{Reason: all.nothing.reason, Rule: all.nothing.rule.ID}, all.nothing.rule
	default:
		return Verdict{Reason: NotSelected}, nil
	}
}

// whenDue is the verdict of the due votes, at the time that all of them allow. If there is no such time, it keeps.
func (all *votes) whenDue(now time.Time) Verdict {
	v, moved := all.deciding(), all.moved()
	due := Verdict{Action: Delete, Reason: Expired, Rule: v.rule.ID, Start: v.start, TTL: v.ttl, Due: moved, Owner: v.owner}
	if len(all.deferring) > 0 {
		at := Latest(now, moved)
		opens, ok := openingOf(at, all.deferring...)
		if !ok {
			return Verdict{Reason: NoCommonWindow, Rule: v.rule.ID, Again: opens}
		}
		if due.Due = opens; opens.Equal(at) {
			due.Due = Latest(moved, opened(at, all.deferring...)) // an opening that it missed was not the last one
		}
	}
	switch {
	case !now.Before(due.Due) && v.excess:
		due.Reason = OverCapacity
	case !now.Before(due.Due):
	case now.Before(all.expires):
		due.Action, due.Reason = Wait, Waiting
	default:
		due.Action, due.Reason = Wait, Deferred
	}
	due.Due = Soonest(due.Due, lastTime)
	return due
}

func flagged(f Flags) Reason {
	switch {
	case f.Has(IsTerminating):
		return Terminating
	case f.HasHold():
		return Held
	case f.Has(IsUncounted):
		return Uncounted
	case f.Has(IsPinned):
		return Pinned
	case f.Has(IsInUse):
		return InUse
	default:
		return ""
	}
}

func later(a, b vote) vote {
	if a.rule == nil || b.due.After(a.due) || (b.due.Equal(a.due) && b.rule.ID.Compare(a.rule.ID) < 0) {
		return b
	}
	return a
}

func earlierReason(a, b vote) vote {
	if a.rule == nil {
		return b
	}
	if ra, rb := rank(a.reason), rank(b.reason); rb < ra || (rb == ra && b.rule.ID.Compare(a.rule.ID) < 0) {
		return b
	}
	return a
}

// rank orders the reasons of rules. Reasons before Waiting keep the subject, and so does an unknown reason.
func rank(r Reason) int { return slices.Index(order, r) }
