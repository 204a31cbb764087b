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

var errRandom = errors.New("expression failed")

func randomWorld(r *rand.Rand) world {
	w := world{subject: policy.Subject{UID: "u", Created: randomTime(r)}}
	if r.Intn(10) == 0 {
		w.subject.Flags = policy.Flags(r.Intn(8))
	}
	for p := range 1 + r.Intn(4) {
		m := []v1alpha1.Mode{v1alpha1.Enforce, v1alpha1.Enforce, v1alpha1.DryRun, v1alpha1.Suspended, ""}[r.Intn(5)]
		for i := range r.Intn(3) {
			ruling := randomRuling(r)
			ruling.Rule.ID = policy.RuleID{Policy: fmt.Sprint("p", p), Rule: fmt.Sprint("r", i)}
			ruling.Rule.Mode = m
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
		ruling.Facts.Start = time.Time{}
	}
	if seldom() {
		ruling.Facts.TTL = policy.NeverTTL
	}
	return ruling
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
		switch v.Action {
		case policy.Delete:
			return v.Reason == policy.Expired && !v.Due.After(now) && v.Due.Equal(v.Start.Add(v.TTL)) &&
				!v.Start.Before(w.subject.Created) && warrant.Valid() && warrant.Rule().ID == v.Rule
		case policy.Wait:
			return v.Reason == policy.Waiting && v.Due.After(now) && !warrant.Valid()
		default:
			return v.Reason != "" && v.Reason != policy.Expired && v.Reason != policy.Waiting && !warrant.Valid()
		}
	})
}

func TestAnotherRuleThatKeepsNeverCausesADeletion(t *testing.T) {
	keeping := []func(*policy.Ruling){unknown, failed, invalid, suspended, never, ttl(policy.Week), notEligible, noStart}
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
		before, _ := w.decide(now)
		after, _ := w.with(func(rule *policy.Rule) { rule.TTL += randomTTL(r) }).decide(now)
		return after.Action != policy.Delete || before.Action == policy.Delete
	})
}

func TestOnceDeleteAlwaysDelete(t *testing.T) {
	forEach(t, func(r *rand.Rand, w world) bool {
		v, _ := w.decide(now)
		later, _ := w.decide(now.Add(time.Duration(r.Int63n(int64(policy.Week)))))
		return v.Action != policy.Delete || cmp.Equal(v, later)
	})
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
		v, _ := w.with(func(rule *policy.Rule) {
			if rule.ID.Policy == "p0" && rule.Mode != v1alpha1.Suspended {
				rule.Mode = v1alpha1.Enforce
			}
		}).decide(now)
		return cmp.Equal(v, forecast)
	})
}
