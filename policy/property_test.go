// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/long"
)

// rounds is the number of random cases for each property.
func rounds() int { return long.Cases(5_000) }

// subjectCase is a random subject with evaluations of up to four policies.
type subjectCase struct {
	subject     policy.Subject
	evaluations []policy.Evaluation
}

var (
	errRandom  = errors.New("expression failed")
	errDoubted = fmt.Errorf("%w: no permission to list Pods", policy.ErrReferencesUnknown)
)

func randomCase(r *rand.Rand) subjectCase {
	w := subjectCase{subject: policy.Subject{UID: "u", Created: randomTime(r)}}
	if r.Intn(10) == 0 {
		w.subject.Flags = policy.Flags(r.Intn(8))
	}
	if r.Intn(10) == 0 {
		w.subject.Flags |= []policy.Flags{policy.OfMultiKueue, policy.OfArgoCD, policy.OfFlux, policy.OfHelm, policy.IsRecreated}[r.Intn(5)]
	}
	if r.Intn(4) == 0 {
		w.subject.Flags, w.subject.OwnTTL = w.subject.Flags|policy.HasTTL, randomTTL(r)
	}
	for p := range 1 + r.Intn(4) {
		m := []v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.DryRun, v1alpha1.Suspend, ""}[r.Intn(5)]
		waiting := r.Intn(20) == 0
		for i := range r.Intn(3) {
			evaluation := randomEvaluation(r)
			evaluation.Rule.ID = policy.RuleID{Policy: fmt.Sprint("p", p), Rule: fmt.Sprint("r", i)}
			evaluation.Rule.Mode, evaluation.Rule.Unapproved = m, waiting
			w.evaluations = append(w.evaluations, evaluation)
		}
	}
	return w
}

func randomEvaluation(r *rand.Rand) policy.Evaluation {
	seldom := func() bool { return r.Intn(20) == 0 }
	evaluation := policy.Evaluation{
		Rule:  &policy.Rule{TTL: randomTTL(r), HasTTLExpression: r.Intn(3) == 0},
		Facts: policy.Facts{Selected: !seldom(), Eligible: r.Intn(5) > 0, Start: randomTime(r), TTL: randomTTL(r)},
		Known: !seldom(),
	}
	if seldom() {
		evaluation.Rule.Problems = []policy.Problem{{Path: "spec"}}
	}
	if seldom() {
		evaluation.Facts = policy.Facts{Selected: true, Err: errRandom}
	}
	if seldom() {
		evaluation.Facts = policy.Facts{Selected: true, Err: errDoubted}
	}
	if seldom() {
		evaluation.Facts.Start = time.Time{}
	}
	if r.Intn(10) == 0 && evaluation.Facts.Err == nil {
		evaluation.Facts.NotBefore = now.Add(time.Duration(r.Intn(5)-2) * time.Hour)
	}
	if seldom() {
		evaluation.Facts.TTL = policy.NeverTTL
	}
	randomize(r, &evaluation)
	return evaluation
}

// randomize adds random settings of namespaces, ranks, owners and marks.
func randomize(r *rand.Rand, evaluation *policy.Evaluation) {
	seldom := func() bool { return r.Intn(20) == 0 }
	evaluation.Rank = policy.RankResult{Newest: seldom(), Excess: r.Intn(10) == 0}
	evaluation.Facts.Estimated = seldom() && evaluation.Facts.Eligible
	evaluation.Rule.Suspended = seldom()
	evaluation.Rule.AllowManaged = r.Intn(2) == 0
	evaluation.Rule.Owner = r.Intn(4) == 0
	if !seldom() {
		evaluation.Facts.Owner = job
	}
	if seldom() {
		evaluation.Rule.TTL, evaluation.Rule.HasTTLExpression, evaluation.Rule.Capacity.Bounded = policy.NeverTTL, false, true
	}
	if r.Intn(3) == 0 {
		evaluation.Rule.Bounds = randomBounds(r)
		evaluation.Rule.Overrides = []*policy.Override{randomOverride(r), randomOverride(r)}
	}
}

// randomTime and randomTTL have few values, so that ties occur.
func randomTime(r *rand.Rand) time.Time    { return now.Add(-time.Duration(r.Intn(8)) * time.Hour) }
func randomTTL(r *rand.Rand) time.Duration { return time.Duration(r.Intn(6)) * time.Hour }

func (w subjectCase) decide(at time.Time) (policy.Verdict, policy.DeletePermit) {
	return policy.Decide(w.subject, w.evaluations, at)
}

// with is the case with copied and changed rules.
func (w subjectCase) with(change func(*policy.Rule)) subjectCase {
	w.evaluations = slices.Clone(w.evaluations)
	for i := range w.evaluations {
		rule := *w.evaluations[i].Rule
		change(&rule)
		w.evaluations[i].Rule = &rule
	}
	return w
}

// forEach checks a property with random cases. It fails if too few of them end in a deletion.
func forEach(t *testing.T, property func(*rand.Rand, subjectCase) bool) {
	t.Helper()
	r := rand.New(rand.NewSource(42))
	deletions := 0
	for range rounds() {
		w := randomCase(r)
		if v, _ := w.decide(now); v.Action == policy.Delete {
			deletions++
		}
		if !property(r, w) {
			v, _ := w.decide(now)
			t.Fatalf("does not hold for %+v\n%s\nverdict %+v", w.subject, describe(w.evaluations), v)
		}
	}
	if deletions < rounds()/25 {
		t.Errorf("only %d of %d cases end in a deletion", deletions, rounds())
	}
}

func describe(evaluations []policy.Evaluation) (text string) {
	for _, r := range evaluations {
		text += fmt.Sprintf("%+v known %v: %+v\n", *r.Rule, r.Known, r.Facts)
	}
	return text
}

func TestOrderNeverMatters(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		v, permit := w.decide(now)
		r.Shuffle(len(w.evaluations), func(i, j int) { w.evaluations[i], w.evaluations[j] = w.evaluations[j], w.evaluations[i] })
		shuffled, other := w.decide(now)
		return v == shuffled && permit.Rule() == other.Rule() && permit.Due().Equal(other.Due())
	})
}

func TestVerdictIsConsistentWithPermit(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		v, permit := w.decide(now)
		notBefore := w.notBefore(v.Rule)
		timely := v.Due.Equal(v.Start.Add(v.TTL)) || v.Due.Equal(notBefore)
		switch v.Action {
		case policy.Delete:
			expired := v.Reason == policy.Expired && !v.Due.After(now) && timely && !v.Due.Before(v.Start.Add(v.TTL))
			over := v.Reason == policy.OverCapacity && v.Due.Equal(now) && (v.TTL < 0 || v.Start.Add(v.TTL).After(now))
			return (expired || over) && !v.Due.Before(notBefore) && !v.Start.Before(w.subject.Created) && permit.Valid() && permit.Rule().ID == v.Rule && permit.Reason() == v.Reason
		case policy.Wait:
			return v.Reason == policy.Waiting && timely && !v.Due.Before(notBefore) && v.Due.After(now) && !permit.Valid()
		default:
			return v.Reason != "" && v.Reason != policy.Expired && v.Reason != policy.OverCapacity && v.Reason != policy.Waiting && !permit.Valid()
		}
	})
}

// notBefore is the earliest time at which a rule allows the deletion.
func (w subjectCase) notBefore(id policy.RuleID) (at time.Time) {
	for i := range w.evaluations {
		if r := &w.evaluations[i]; r.Rule.ID == id {
			at = r.Facts.NotBefore
		}
	}
	return at
}

// TestDeletionIsNeverBeforeNotBefore: NotBefore of each rule applies, also above a capacity, and if another rule decides.
func TestDeletionIsNeverBeforeNotBefore(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		v, _ := w.decide(now)
		for i := range w.evaluations {
			alone := subjectCase{subject: w.subject, evaluations: w.evaluations[i : i+1]}
			said, _ := alone.decide(now)
			if says := said.Reason == policy.Expired || said.Reason == policy.OverCapacity || said.Reason == policy.Waiting; says &&
				now.Before(w.evaluations[i].Facts.NotBefore) && v.Action == policy.Delete {
				return false
			}
		}
		return true
	})
}

func TestPermitHasOwnerOnlyForOwnerRules(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		v, permit := w.decide(now)
		if !permit.Valid() {
			return permit.Owner() == nil
		}
		return (permit.Owner() != nil) == permit.Rule().Owner && permit.Owner() == v.Owner
	})
}

func TestDecideKeepingRuleCausesNoDeletion(t *testing.T) {
	keeping := []func(*policy.Evaluation){unknown, failed, doubted, notBefore(now.Add(1)), invalid, suspended, never, ttl(policy.Week), notEligible, noStart,
		suspendedHere, unapproved, newest, estimated, ttl(policy.NeverTTL), deletesOwner(nil)}
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		before, _ := w.decide(now)
		w.evaluations = append(w.evaluations, says("z", of("z"), keeping[r.Intn(len(keeping))]))
		after, _ := w.decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestSuspendingAPolicyNeverCausesADeletion(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		before, _ := w.decide(now)
		for p := range 4 {
			after, _ := w.with(func(rule *policy.Rule) {
				if rule.ID.Policy == fmt.Sprint("p", p) {
					rule.Mode = v1alpha1.Suspend
				}
			}).decide(now)
			if after.Action == policy.Delete && before.Action != policy.Delete {
				return false
			}
		}
		return true
	})
}

func TestMakingARuleInvalidNeverCausesADeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		before, _ := w.decide(now)
		after, _ := w.with(func(rule *policy.Rule) {
			if r.Intn(2) == 0 {
				rule.Problems = []policy.Problem{{Path: "spec"}}
			}
		}).decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestLongerTTLNeverCausesADeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		// A dry-run override applies only while it is longer than the rule's TTL. With a longer TTL only the shorter one in force
		// remains.
		w = w.with(func(rule *policy.Rule) {
			rule.Overrides = slices.DeleteFunc(slices.Clone(rule.Overrides), func(o *policy.Override) bool { return !o.InForce })
		})
		before, _ := w.decide(now)
		after, _ := w.with(func(rule *policy.Rule) {
			if rule.TTL >= 0 {
				rule.TTL += randomTTL(r)
			}
		}).decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestDecideStaysDeleteOverTime(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		v, _ := w.decide(now)
		later, _ := w.decide(now.Add(time.Duration(r.Int63n(int64(policy.Week)))))
		if v.Action != policy.Delete || v.Reason == policy.Expired && !w.overCapacity() {
			return v.Action != policy.Delete || v == later
		}
		return later.Action == policy.Delete
	})
}

// overCapacity reports whether a rule finds the subject above its capacity: its due time is then always now.
func (w subjectCase) overCapacity() bool {
	return slices.ContainsFunc(w.evaluations, func(r policy.Evaluation) bool { return r.Rank.Excess })
}

func TestWaitBecomesDeleteWhenDue(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		v, _ := w.decide(now)
		if v.Action != policy.Wait {
			return true
		}
		early, _ := w.decide(v.Due.Add(-1))
		due, _ := w.decide(v.Due)
		return early.Action == policy.Wait && due.Action == policy.Delete
	})
}

func TestDryRunsNeverChangeADecision(t *testing.T) {
	isDryRun := func(r policy.Evaluation) bool { return r.Rule.Mode == v1alpha1.DryRun || r.Rule.Mode == "" }
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		v, permit := w.decide(now)
		w.evaluations = slices.DeleteFunc(slices.Clone(w.evaluations), isDryRun)
		without, other := w.decide(now)
		return v == without && permit.Rule() == other.Rule()
	})
}

func TestForecastWithoutDryRunsIsTheDecision(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		v, _ := w.decide(now)
		return v == policy.Forecast(w.subject, w.evaluations, "no such policy", now)
	})
}

func TestForecastIsTheDecisionOnceEnforced(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		forecast := policy.Forecast(w.subject, w.evaluations, "p0", now)
		enforced := w.with(func(rule *policy.Rule) {
			if rule.ID.Policy != "p0" {
				return
			}
			rule.Unapproved = false
			if rule.Mode != v1alpha1.Suspend {
				rule.Mode = v1alpha1.Enforce
			}
		})
		for i := range enforced.evaluations {
			if r := &enforced.evaluations[i]; r.Rule.ID.Policy == "p0" {
				r.Facts.Estimated = false
			}
		}
		v, _ := enforced.decide(now)
		return v == forecast
	})
}

func TestWaitingForApprovalNeverCausesADeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		before, _ := w.decide(now)
		after, _ := w.with(func(rule *policy.Rule) { rule.Unapproved = rule.Unapproved || r.Intn(2) == 0 }).decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestCapacityIncreaseCausesNoDeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w subjectCase) bool {
		before, _ := w.decide(now)
		w.evaluations = slices.Clone(w.evaluations)
		for i := range w.evaluations {
			s := &w.evaluations[i].Rank
			s.Newest, s.Excess = s.Newest || r.Intn(2) == 0, s.Excess && r.Intn(2) == 0
		}
		after, _ := w.decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}
