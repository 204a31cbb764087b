package policy_test

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// rounds is how many random cases each property sees.
const rounds = 20_000

// world is a random subject with what the rules of up to four policies say about it.
type world struct {
	subject policy.Subject
	rulings []policy.Ruling
}

var (
	errRandom  = errors.New("expression failed")
	errDoubted = fmt.Errorf("%w: no right to list Pods", policy.ErrReferencesUnknown)
)

func randomWorld(r *rand.Rand) world {
	w := world{subject: policy.Subject{UID: "u", Created: randomTime(r)}}
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
		m := []v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.DryRun, v1alpha1.Suspended, ""}[r.Intn(5)]
		waiting := r.Intn(20) == 0
		for i := range r.Intn(3) {
			ruling := randomRuling(r)
			ruling.Rule.ID = policy.RuleID{Policy: fmt.Sprint("p", p), Rule: fmt.Sprint("r", i)}
			ruling.Rule.Mode, ruling.Rule.Unapproved = m, waiting
			w.rulings = append(w.rulings, ruling)
		}
	}
	return w
}

func randomRuling(r *rand.Rand) policy.Ruling {
	seldom := func() bool { return r.Intn(20) == 0 }
	ruling := policy.Ruling{
		Rule:  &policy.Rule{TTL: randomTTL(r), HasTTLExpression: r.Intn(3) == 0},
		Facts: policy.Facts{Selected: !seldom(), Eligible: r.Intn(5) > 0, Start: randomTime(r), TTL: randomTTL(r)},
		Known: !seldom(),
	}
	if seldom() {
		ruling.Rule.Problems = []policy.Problem{{Path: "spec"}}
	}
	if seldom() {
		ruling.Facts = policy.Facts{Selected: true, Err: errRandom}
	}
	if seldom() {
		ruling.Facts = policy.Facts{Selected: true, Err: errDoubted}
	}
	if seldom() {
		ruling.Facts.Start = time.Time{}
	}
	if r.Intn(10) == 0 && ruling.Facts.Err == nil {
		ruling.Facts.NotBefore = now.Add(time.Duration(r.Intn(5)-2) * time.Hour)
	}
	if seldom() {
		ruling.Facts.TTL = policy.NeverTTL
	}
	randomize(r, &ruling)
	return ruling
}

// randomize gives a ruling what namespaces, objects, ranks and marks make of it.
func randomize(r *rand.Rand, ruling *policy.Ruling) {
	seldom := func() bool { return r.Intn(20) == 0 }
	ruling.Standing = policy.Standing{Newest: seldom(), Excess: r.Intn(10) == 0}
	ruling.Facts.Estimated = seldom() && ruling.Facts.Eligible
	ruling.Rule.Suspended = seldom()
	ruling.Rule.AllowManaged = r.Intn(2) == 0
	ruling.Rule.Owner = r.Intn(4) == 0
	if !seldom() {
		ruling.Facts.Owner = job
	}
	if seldom() {
		ruling.Rule.TTL, ruling.Rule.HasTTLExpression, ruling.Rule.Capacity.Bounded = policy.NeverTTL, false, true
	}
	if r.Intn(3) == 0 {
		ruling.Rule.Bounds = randomBounds(r)
		ruling.Rule.Overrides = []*policy.Override{randomOverride(r), randomOverride(r)}
	}
}

// randomTime and randomTTL have few values, so that ties happen.
func randomTime(r *rand.Rand) time.Time    { return now.Add(-time.Duration(r.Intn(8)) * time.Hour) }
func randomTTL(r *rand.Rand) time.Duration { return time.Duration(r.Intn(6)) * time.Hour }

func (w world) decide(at time.Time) (policy.Verdict, policy.Warrant) {
	return policy.Decide(w.subject, w.rulings, at)
}

// with is the world with the rulings changed, the rules copied.
func (w world) with(change func(*policy.Rule)) world {
	w.rulings = slices.Clone(w.rulings)
	for i := range w.rulings {
		rule := *w.rulings[i].Rule
		change(&rule)
		w.rulings[i].Rule = &rule
	}
	return w
}

// forEach calls a property with random worlds, and fails when too few of them end in a deletion to prove anything.
func forEach(t *testing.T, property func(*rand.Rand, world) bool) {
	t.Helper()
	r := rand.New(rand.NewSource(42))
	deletions := 0
	for range rounds {
		w := randomWorld(r)
		if v, _ := w.decide(now); v.Action == policy.Delete {
			deletions++
		}
		if !property(r, w) {
			v, _ := w.decide(now)
			t.Fatalf("does not hold for %+v\n%s\nverdict %+v", w.subject, describe(w.rulings), v)
		}
	}
	if deletions < rounds/20 {
		t.Errorf("only %d of %d worlds end in a deletion", deletions, rounds)
	}
}

func describe(rulings []policy.Ruling) (text string) {
	for _, r := range rulings {
		text += fmt.Sprintf("%+v known %v: %+v\n", *r.Rule, r.Known, r.Facts)
	}
	return text
}

func TestOrderNeverMatters(t *testing.T) {
	forEach(t, func(r *rand.Rand, w world) bool {
		v, warrant := w.decide(now)
		r.Shuffle(len(w.rulings), func(i, j int) { w.rulings[i], w.rulings[j] = w.rulings[j], w.rulings[i] })
		shuffled, other := w.decide(now)
		return cmp.Equal(v, shuffled) && warrant.Rule() == other.Rule() && warrant.Due().Equal(other.Due())
	})
}

func TestEveryVerdictIsWhole(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
		v, warrant := w.decide(now)
		notBefore := w.notBefore(v.Rule)
		timely := v.Due.Equal(v.Start.Add(v.TTL)) || v.Due.Equal(notBefore)
		switch v.Action {
		case policy.Delete:
			expired := v.Reason == policy.Expired && !v.Due.After(now) && timely && !v.Due.Before(v.Start.Add(v.TTL))
			over := v.Reason == policy.OverCapacity && v.Due.Equal(now) && (v.TTL < 0 || v.Start.Add(v.TTL).After(now))
			return (expired || over) && !v.Due.Before(notBefore) && !v.Start.Before(w.subject.Created) && warrant.Valid() && warrant.Rule().ID == v.Rule && warrant.Reason() == v.Reason
		case policy.Wait:
			return v.Reason == policy.Waiting && timely && !v.Due.Before(notBefore) && v.Due.After(now) && !warrant.Valid()
		default:
			return v.Reason != "" && v.Reason != policy.Expired && v.Reason != policy.OverCapacity && v.Reason != policy.Waiting && !warrant.Valid()
		}
	})
}

// notBefore is before when a rule lets the subject not go.
func (w world) notBefore(id policy.RuleID) (at time.Time) {
	for i := range w.rulings {
		if r := &w.rulings[i]; r.Rule.ID == id {
			at = r.Facts.NotBefore
		}
	}
	return at
}

// TestNothingGoesBeforeAnyRuleLetsIt: also when there are too many, and whichever rule decides.
func TestNothingGoesBeforeAnyRuleLetsIt(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
		v, _ := w.decide(now)
		for i := range w.rulings {
			alone := world{subject: w.subject, rulings: w.rulings[i : i+1]}
			said, _ := alone.decide(now)
			if says := said.Reason == policy.Expired || said.Reason == policy.OverCapacity || said.Reason == policy.Waiting; says &&
				now.Before(w.rulings[i].Facts.NotBefore) && v.Action == policy.Delete {
				return false
			}
		}
		return true
	})
}

func TestAnOwnerGoesOnTheWordOfARuleAboutOwnersOnly(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
		v, warrant := w.decide(now)
		if !warrant.Valid() {
			return warrant.Owner() == nil
		}
		return (warrant.Owner() != nil) == warrant.Rule().Owner && warrant.Owner() == v.Owner
	})
}

func TestAnotherRuleThatKeepsNeverCausesADeletion(t *testing.T) {
	keeping := []func(*policy.Ruling){unknown, failed, doubted, notBefore(now.Add(1)), invalid, suspended, never, ttl(policy.Week), notEligible, noStart,
		suspendedHere, unapproved, newest, estimated, ttl(policy.NeverTTL), lets(nil)}
	forEach(t, func(r *rand.Rand, w world) bool {
		before, _ := w.decide(now)
		w.rulings = append(w.rulings, says("z", of("z"), keeping[r.Intn(len(keeping))]))
		after, _ := w.decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestSuspendingAPolicyNeverCausesADeletion(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
		before, _ := w.decide(now)
		for p := range 4 {
			after, _ := w.with(func(rule *policy.Rule) {
				if rule.ID.Policy == fmt.Sprint("p", p) {
					rule.Mode = v1alpha1.Suspended
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
	forEach(t, func(r *rand.Rand, w world) bool {
		before, _ := w.decide(now)
		after, _ := w.with(func(rule *policy.Rule) {
			if r.Intn(2) == 0 {
				rule.Problems = []policy.Problem{{Path: "spec"}}
			}
		}).decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestALongerTTLNeverCausesADeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w world) bool {
		// A dry run's override counts while it is longer than the rule: beyond, one in force that is shorter is all there is.
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

func TestOnceDeleteAlwaysDelete(t *testing.T) {
	forEach(t, func(r *rand.Rand, w world) bool {
		v, _ := w.decide(now)
		later, _ := w.decide(now.Add(time.Duration(r.Int63n(int64(policy.Week)))))
		if v.Action != policy.Delete || v.Reason == policy.Expired && !w.overCapacity() {
			return v.Action != policy.Delete || cmp.Equal(v, later)
		}
		return later.Action == policy.Delete
	})
}

// overCapacity reports whether a rule finds too many: what it says is due now, whenever that is.
func (w world) overCapacity() bool {
	return slices.ContainsFunc(w.rulings, func(r policy.Ruling) bool { return r.Standing.Excess })
}

func TestWhatWaitsGoesWhenItIsDue(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
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
	isDryRun := func(r policy.Ruling) bool { return r.Rule.Mode == v1alpha1.DryRun || r.Rule.Mode == "" }
	forEach(t, func(r *rand.Rand, w world) bool {
		v, warrant := w.decide(now)
		w.rulings = slices.DeleteFunc(slices.Clone(w.rulings), isDryRun)
		without, other := w.decide(now)
		return cmp.Equal(v, without) && warrant.Rule() == other.Rule()
	})
}

func TestAForecastWithoutDryRunsIsTheDecision(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
		v, _ := w.decide(now)
		return cmp.Equal(v, policy.Forecast(w.subject, w.rulings, "no such policy", now))
	})
}

func TestAForecastIsTheDecisionOnceEnforced(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w world) bool {
		forecast := policy.Forecast(w.subject, w.rulings, "p0", now)
		enforced := w.with(func(rule *policy.Rule) {
			if rule.ID.Policy != "p0" {
				return
			}
			rule.Unapproved = false
			if rule.Mode != v1alpha1.Suspended {
				rule.Mode = v1alpha1.Enforce
			}
		})
		for i := range enforced.rulings {
			if r := &enforced.rulings[i]; r.Rule.ID.Policy == "p0" {
				r.Facts.Estimated = false
			}
		}
		v, _ := enforced.decide(now)
		return cmp.Equal(v, forecast)
	})
}

func TestWaitingForApprovalNeverCausesADeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w world) bool {
		before, _ := w.decide(now)
		after, _ := w.with(func(rule *policy.Rule) { rule.Unapproved = rule.Unapproved || r.Intn(2) == 0 }).decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestMoreRoomNeverCausesADeletion(t *testing.T) {
	forEach(t, func(r *rand.Rand, w world) bool {
		before, _ := w.decide(now)
		w.rulings = slices.Clone(w.rulings)
		for i := range w.rulings {
			s := &w.rulings[i].Standing
			s.Newest, s.Excess = s.Newest || r.Intn(2) == 0, s.Excess && r.Intn(2) == 0
		}
		after, _ := w.decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}
