// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// forecast is the compared part of a policy.PolicyForecast.
type forecast struct {
	Rule      string // of the policy
	Action    policy.Action
	Reason    policy.Reason
	DecidedBy string // the rule that decided
	Due       time.Duration
	DueKnown  bool
	Failed    bool
}

func TestForecasts(t *testing.T) {
	later := ttl(2 * hour) // due in an hour
	const soon = time.Hour
	for name, test := range map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		want        []forecast
	}{
		"due now":                     {0, evaluations(says("a")), []forecast{{"a", policy.Delete, policy.Expired, "p/a", 0, true, false}}},
		"due later":                   {0, evaluations(says("a", later)), []forecast{{"a", policy.Wait, policy.Waiting, "p/a", soon, true, false}}},
		"the latest rule of a policy": {0, evaluations(says("a"), says("b", later)), []forecast{{"b", policy.Wait, policy.Waiting, "p/b", soon, true, false}}},
		"a dry run":                   {0, evaluations(says("a", dryRun, later)), []forecast{{"a", policy.Wait, policy.Waiting, "p/a", soon, true, false}}},
		"two policies, each with its forecast": {0, evaluations(says("a"), says("z", of("q"), later)), []forecast{
			{"a", policy.Wait, policy.Waiting, "q/z", soon, true, false}, {"z", policy.Wait, policy.Waiting, "q/z", soon, true, false},
		}},
		"another dry run has no effect": {0, evaluations(says("a"), says("z", of("q"), dryRun, later)), []forecast{
			{"a", policy.Delete, policy.Expired, "p/a", 0, true, false}, {"z", policy.Wait, policy.Waiting, "q/z", soon, true, false},
		}},
		"held":                        {policy.IsHeld, evaluations(says("a", later)), []forecast{{"a", policy.Keep, policy.Held, "p/a", soon, true, false}}},
		"not counted":                 {policy.IsUncounted, evaluations(says("a")), []forecast{{"a", policy.Keep, policy.Uncounted, "p/a", 0, true, false}}},
		"already being deleted":       {policy.IsTerminating, evaluations(says("a"), says("z", of("q"), failed)), nil},
		"waits for approval":          {0, evaluations(says("a", unapproved, later)), []forecast{{"a", policy.Keep, policy.IsUnapproved, "p/a", soon, true, false}}},
		"waits for approval and held": {policy.IsHeld, evaluations(says("a", unapproved)), []forecast{{"a", policy.Keep, policy.Held, "p/a", 0, true, false}}},
		"kept by another policy": {0, evaluations(says("a", later), says("z", of("q"), newest)), []forecast{
			{"a", policy.Keep, policy.KeptNewest, "q/z", soon, true, false},
		}},
		"an expression fails": {0, evaluations(says("a", failed), says("z", of("q"))), []forecast{
			{"a", policy.Keep, policy.EvaluationFailed, "p/a", 0, false, true}, {"z", policy.Keep, policy.EvaluationFailed, "p/a", 0, true, false},
		}},
		"references are unknown":       {0, evaluations(says("a", doubted)), []forecast{{"a", policy.Keep, policy.ReferencesUnknown, "p/a", 0, false, true}}},
		"managed by Argo CD":           {policy.OfArgoCD, evaluations(says("a")), []forecast{{"a", policy.Keep, policy.ManagedByArgoCD, "p/a", 0, false, false}}},
		"above the capacity":           {0, evaluations(says("a", excess, later)), []forecast{{"a", policy.Delete, policy.OverCapacity, "p/a", 0, false, false}}},
		"above the capacity and held":  {policy.IsHeld, evaluations(says("a", excess, later)), []forecast{{"a", policy.Keep, policy.Held, "p/a", 0, false, false}}},
		"not marked yet":               {0, evaluations(says("a", estimated, dryRun)), []forecast{{"a", policy.Delete, policy.Expired, "p/a", 0, true, false}}},
		"not eligible":                 {0, evaluations(says("a", notEligible)), nil},
		"not selected":                 {0, evaluations(says("a", notSelected)), nil},
		"among the newest":             {0, evaluations(says("a", newest)), nil},
		"suspended":                    {0, evaluations(says("a", suspended)), nil},
		"an invalid rule":              {0, evaluations(says("a", invalid)), nil},
		"facts are missing":            {0, evaluations(says("a", unknown)), nil},
		"without permissions":          {0, evaluations(says("a", failed), says("b", unpermitted)), nil},
		"within the capacity, no TTL":  {0, evaluations(says("a", ttl(policy.NeverTTL))), nil},
		"a rule of the same keeps":     {0, evaluations(says("a"), says("b", newest)), nil},
		"a rule of the same is failed": {0, evaluations(says("a"), says("b", failed)), []forecast{{"b", policy.Keep, policy.EvaluationFailed, "p/b", 0, false, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []forecast
			for f := range policy.Forecasts(policy.Subject{Flags: test.flags}, test.evaluations, now) {
				g := forecast{Rule: f.Rule.ID.Rule, Action: f.Action, Reason: f.Reason, DecidedBy: f.Verdict.Rule.String(), DueKnown: !f.Due.IsZero(), Failed: f.Failed()}
				if g.DueKnown {
					g.Due = f.Due.Sub(now)
				}
				got = append(got, g)
			}
			expect.Equal(t, "forecasts", test.want, got)
		})
	}
}

func unpermitted(r *policy.Evaluation) { r.Rule.Unpermitted = true }

// TestForecastsAgreeWithCounts: a policy forecasts a deletion, or would without its approval gate, of exactly the subjects that its
// status counts as due.
func TestForecastsAgreeWithCounts(t *testing.T) {
	forEach(t, func(_ *rand.Rand, w subjectCase) bool {
		got := map[string]int64{}
		for f := range policy.Forecasts(w.subject, w.evaluations, now) {
			if f.Action == policy.Delete || f.Reason == policy.IsUnapproved && f.Verdict.Rule == f.Rule.ID && !f.Due.After(now) {
				got[f.Rule.ID.Policy] = 1
			}
		}
		all := statsOf(w.subject, w.evaluations...)
		for p := range 4 {
			name := fmt.Sprint("p", p)
			var want int64
			if stats := all.Policies[name]; stats != nil {
				want = stats.Due.Now
			}
			if got[name] != want {
				return false
			}
		}
		return true
	})
}
