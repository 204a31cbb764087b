// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// capacityOf is the capacity of a rule with percentOfQuota in a namespace with these quotas.
func capacityOf(percent int, quotas ...string) *policy.EffectiveRules {
	known := map[string]int64{}
	for _, text := range quotas {
		known = policy.AddQuota(known, map[string]resource.Quantity{"count/jobs.batch": resource.MustParse(text)})
	}
	r := about(jobs, "jobs")
	r.TTL = 1000 * time.Hour
	r.Capacity = policy.Capacity{Bounded: true, ByQuota: true, Percent: percent}
	snapshot := policy.NewSnapshot([]*policy.Policy{policyOf("p", r)}, map[string]policy.Namespace{"ns": {Quotas: known}}, policy.Protection{})
	return snapshot.Effective(jobs.GroupKind(), "ns")
}

// TestCapacityOfQuotasDoesNotOverflow decides about 12 finished Jobs: Sunset deletes those above the capacity, and status has the same number.
func TestCapacityOfQuotasDoesNotOverflow(t *testing.T) {
	const all = 12
	for name, test := range map[string]struct {
		percent int
		quotas  []string
		due     int
	}{
		"the maximum int64":                     {100, []string{"9223372036854775807"}, 0},
		"half of the maximum int64":             {50, []string{"9223372036854775807"}, 0},
		"one percent of the maximum int64":      {1, []string{"9223372036854775807"}, 0},
		"more than an int64":                    {50, []string{"9223372036854775808"}, 0},
		"many digits":                           {50, []string{"99999999999999999999999999999"}, 0},
		"an exponent":                           {50, []string{"1e30"}, 0},
		"a huge exponent":                       {50, []string{"1e999999999"}, 0},
		"exa":                                   {50, []string{"100E"}, 0},
		"peta":                                  {50, []string{"200P"}, 0},
		"8Ei":                                   {100, []string{"8Ei"}, 0},
		"0 percent of a large quota":            {0, []string{"1e30"}, all},
		"the minimum of several":                {50, []string{"1e30", "4", "100E"}, all - 2},
		"the minimum of several, in last place": {50, []string{"1e30", "100E", "4"}, all - 2},
		"a negative quota limits nothing":       {50, []string{"-4"}, 0},
		"a large negative quota limits nothing": {50, []string{"-1e30"}, 0},
		"a negative quota with another":         {50, []string{"4", "-4"}, all - 2},
		"a fraction is rounded up":              {100, []string{"3500m"}, all - 4},
		"a small fraction is one":               {1, []string{"1n"}, all - 1},
		"a capacity is rounded up":              {34, []string{"3"}, all - 2},
		"a percent of one is one":               {1, []string{"1"}, all - 1},
		"a quota of 0":                          {100, []string{"0"}, all},
		"exactly the number of objects":         {100, []string{"12"}, 0},
		"one less than the number of objects":   {100, []string{"11"}, 1},
		"no quota":                              {50, nil, 0},
		"half of an odd quota, rounded up":      {50, []string{"5"}, all - 3},
	} {
		t.Run(name, func(t *testing.T) {
			effective := capacityOf(test.percent, test.quotas...)
			facts := policy.Facts{Selected: true, Eligible: true, Start: now.Add(-time.Hour)}
			var members []policy.Candidate
			for i := range all {
				members = append(members, policy.Candidate{Namespace: "ns", UID: types.UID(fmt.Sprint(i)), Start: facts.Start})
			}
			ranking := policy.Ranking{Allowance: func(string) policy.Allowance { return effective.Allowance(effective.Rules[0].ID) }}
			stats, deleted := policy.NewStats(now), 0
			for i, standing := range ranking.Rank(members) {
				s := policy.Subject{Namespace: "ns", UID: members[i].UID}
				evaluations := []policy.Evaluation{{Rule: effective.Rules[0], Facts: facts, Rank: standing, Known: true}}
				if v, _ := policy.Decide(s, evaluations, now); v.Action == policy.Delete {
					deleted++
				}
				stats.Add(s, evaluations)
			}
			expect.Equal(t, fmt.Sprintf("deleted of %d", all), test.due, deleted)
			if tally := stats.Policies["p"]; tally.Due.Now != int64(test.due) || tally.Excess != int64(test.due) {
				t.Errorf("status has %d due and %d in excess, want %d", tally.Due.Now, tally.Excess, test.due)
			}
		})
	}
}

// FuzzPercentOfQuota compares with arithmetic of unlimited precision.
func FuzzPercentOfQuota(f *testing.F) {
	for _, text := range []string{"9223372036854775807", "1e30", "E33333333", "100E", "200P", "8Ei", "1n", "-1", "3500m", "0"} {
		f.Add(text, uint8(50))
	}
	f.Fuzz(func(t *testing.T, text string, percent uint8) {
		if percent > 100 || len(text) > 10 && strings.ContainsAny(text, "eE") { // ParseQuantity needs minutes for some of them
			return
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return
		}
		rule := capacityOf(int(percent), text).Rules[0]
		if rule.Capacity.Bounded != (q.Sign() >= 0) {
			t.Fatalf("%s: bounded is %t", text, rule.Capacity.Bounded)
		}
		if !rule.Capacity.Bounded {
			return
		}
		objects := new(big.Rat).SetInt64(math.MaxInt64)
		if digits := q.AsDec(); digits.Sign() == 0 {
			objects.SetInt64(0)
		} else if digits.Scale() > -1000 {
			objects.SetString(digits.String())
		}
		whole := ceil(objects)
		if most := big.NewInt(math.MaxInt64); whole.Cmp(most) > 0 {
			whole = most
		}
		want := ceil(new(big.Rat).SetFrac(whole.Mul(whole, big.NewInt(int64(percent))), big.NewInt(100)))
		if got := big.NewInt(int64(rule.Capacity.Max)); got.Cmp(want) != 0 {
			t.Errorf("%d %% of %s is %s, want %s", percent, text, got, want)
		}
	})
}

// ceil rounds up. The argument is not negative.
func ceil(r *big.Rat) *big.Int {
	whole, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	return whole.Add(whole, big.NewInt(int64(rest.Sign())))
}

func FuzzExceeded(f *testing.F) {
	f.Add(int64(10), int64(40), uint8(25))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), uint8(100))
	f.Add(int64(1e17), int64(math.MaxInt64), uint8(1))
	f.Fuzz(func(t *testing.T, due, selected int64, percent uint8) {
		if due < 10 || selected < 0 || percent > 100 {
			return
		}
		parts := new(big.Int).Mul(big.NewInt(due), big.NewInt(100))
		most := new(big.Int).Mul(big.NewInt(selected), big.NewInt(int64(percent)))
		approval := policy.Approval{MaxPercent: int64(percent), MaxObjects: math.MaxInt64}
		if got, want := approval.Exceeded(due, selected), parts.Cmp(most) > 0; got != want {
			t.Errorf("%d of %d at %d %%: exceeded is %t", due, selected, percent, got)
		}
	})
}

// FuzzDue compares with a sum of unlimited precision. The due time must be representable in a status.
func FuzzDue(f *testing.F) {
	year9999 := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC).Unix()
	for _, seconds := range []int64{0, year9999, year9999 + 1, math.MaxInt64 / 2, math.MinInt64 / 2, -62135596801} {
		f.Add(seconds, int64(math.MaxInt64))
		f.Add(seconds, int64(0))
	}
	f.Fuzz(func(t *testing.T, seconds, ttl int64) {
		r := says("a")
		r.Rule.TTL, r.Facts.Start = time.Duration(ttl), time.Unix(seconds, 0)
		if ttl < 0 || r.Facts.Start.IsZero() || max(seconds, -seconds) > math.MaxInt64/2 { // package time overflows
			return
		}
		v, _ := policy.Decide(policy.Subject{Created: time.Unix(0, 0).UTC()}, []policy.Evaluation{r}, now)
		due := new(big.Int).Mul(big.NewInt(max(0, seconds)), big.NewInt(int64(time.Second)))
		due.Add(due, big.NewInt(ttl))
		if want := due.Cmp(big.NewInt(now.UnixNano())) <= 0; v.Action == policy.Delete != want {
			t.Errorf("start %d s + %s: %v at %s", seconds, time.Duration(ttl), v.Action, v.Due)
		}
		if v.Due.Year() > 9999 || v.Due.Before(time.Unix(0, 0)) {
			t.Errorf("start %d s + %s is due at %s", seconds, time.Duration(ttl), v.Due)
		}
	})
}

func TestTooLongTTLIsReportedAsTooLong(t *testing.T) {
	for _, text := range []string{"100000000d", "15251w", "9999999999999999999999h", "106751d24h", "292.5w15250w"} {
		if _, err := policy.ParseTTL(text); err == nil || err.Error() != fmt.Sprintf("%q is longer than 292 years", text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLatest(t *testing.T) {
	early, late := now.Add(-time.Hour), now.Add(time.Hour)
	for want, times := range map[time.Time][]time.Time{{}: nil, early: {early}, now: {early, now}, late: {early, late, now, {}}} {
		expect.Equal(t, fmt.Sprint(times), want, policy.Latest(times...))
	}
}

func TestRoundUp(t *testing.T) {
	for written, want := range map[string]string{
		"2026-03-01T12:00:00Z": "2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000000001Z": "2026-03-01T12:00:01Z",
		"2026-03-01T13:59:59.9+02:00": "2026-03-01T12:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, written)
		expect.NoError(t, err)
		expect.Equal(t, written, want, policy.RoundUp(at, time.Second).Format(time.RFC3339Nano))
	}
}
