// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

var claims = schema.GroupKind{Kind: "PersistentVolumeClaim"}

const gibibyte = 1 << 30

// prices are those of the tests.
func prices(t *testing.T) *policy.Prices {
	t.Helper()
	p, err := policy.ParsePrices("EUR", []string{"PersistentVolumeClaim=0.10", "PersistentVolumeClaim/fast=0.30", "Job.batch=1"})
	expect.NoError(t, err)
	return p
}

func sized(bytes int64) func(*policy.Evaluation) {
	return func(r *policy.Evaluation) { r.Facts.Size.Bytes = bytes }
}

func TestPrices(t *testing.T) {
	for name, test := range map[string]struct {
		prices *policy.Prices
		kind   schema.GroupKind
		size   policy.Size
		cost   string
	}{
		"a class with a price":    {prices(t), claims, policy.Size{Bytes: 10 * gibibyte, Class: "fast"}, "3.00"},
		"a class without a price": {prices(t), claims, policy.Size{Bytes: 10 * gibibyte, Class: "slow"}, "1.00"},
		"no class":                {prices(t), claims, policy.Size{Bytes: gibibyte / 2}, "0.05"},
		"a kind without a price":  {prices(t), schema.GroupKind{Kind: "PersistentVolume"}, policy.Size{Bytes: gibibyte, Class: "fast"}, "0.00"},
		"no size":                 {prices(t), claims, policy.Size{}, "0.00"},
		"the largest size":        {prices(t), claims, policy.Size{Bytes: math.MaxInt64, Class: "fast"}, "2576980377.60"},
		"no prices":               {nil, claims, policy.Size{Bytes: gibibyte}, "0.00"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.prices.Of(test.kind, test.size)
			expect.Equal(t, "bytes", test.size.Bytes, got.Bytes)
			expect.Equal(t, "cost", test.cost, got.Cost.String())
		})
	}
	var small policy.Amount
	list := prices(t)
	for range 1_000_000 {
		small = small.Plus(list.Of(claims, policy.Size{Bytes: 1000}))
	}
	expect.Equal(t, "cost of a million small objects", "0.09", small.Cost.String())
}

func TestPricesThatCannotBeRead(t *testing.T) {
	for name, price := range map[string]string{
		"no price":           "PersistentVolumeClaim",
		"no kind":            "=0.10",
		"an empty class":     "PersistentVolumeClaim/=0.10",
		"a negative price":   "PersistentVolumeClaim=-1",
		"a price with words": "PersistentVolumeClaim=0.10 EUR",
		"no number":          "PersistentVolumeClaim=NaN",
		"too much":           "PersistentVolumeClaim=1e10",
	} {
		if _, err := policy.ParsePrices("EUR", []string{price}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := policy.ParsePrices("", []string{"PersistentVolumeClaim=1"}); err == nil {
		t.Error("no error without a currency")
	}
	if none, err := policy.ParsePrices("EUR", nil); none != nil || err != nil {
		t.Errorf("without prices: %v, %v", none, err)
	}
}

// TestSumsSaturate: no sum overflows.
func TestSumsSaturate(t *testing.T) {
	most := policy.Amount{Bytes: math.MaxInt64, Cost: math.MaxInt64}
	for name, test := range map[string]struct{ a, b, want policy.Amount }{
		"small numbers":               {policy.Amount{Bytes: 1, Cost: 2}, policy.Amount{Bytes: 3, Cost: 4}, policy.Amount{Bytes: 4, Cost: 6}},
		"exactly the largest number":  {policy.Amount{Bytes: math.MaxInt64 - 1}, policy.Amount{Bytes: 1}, policy.Amount{Bytes: math.MaxInt64}},
		"more than the largest":       {policy.Amount{Bytes: math.MaxInt64, Cost: 1}, policy.Amount{Bytes: 1}, policy.Amount{Bytes: math.MaxInt64, Cost: 1}},
		"twice the largest of each":   {most, most, most},
		"nothing and the largest":     {policy.Amount{}, most, most},
		"the cost alone is too large": {policy.Amount{Cost: math.MaxInt64}, policy.Amount{Bytes: 1, Cost: 1}, policy.Amount{Bytes: 1, Cost: math.MaxInt64}},
	} {
		expect.Equal(t, name, test.want, test.a.Plus(test.b))
		expect.Equal(t, name+", reversed", test.want, test.b.Plus(test.a))
	}
	all := policy.NewStats(now)
	for range 3 {
		all.Add(policy.Subject{}, evaluations(says("a", sized(math.MaxInt64/2))))
	}
	expect.Equal(t, "a policy", int64(math.MaxInt64), all.Policies["p"].DueStorage.Now.Bytes)
}

// TestStatsOfStorage: each object counts once for a policy, either as due or as kept, with the largest size that a rule gives.
func TestStatsOfStorage(t *testing.T) {
	amount := func(bytes int64) policy.Amount {
		return policy.Amount{Bytes: bytes, Cost: policy.Money(bytes * 1_000_000_000 / gibibyte)}
	}
	at := func(a policy.Amount) policy.Amounts { return policy.Amounts{Now: a, Hour: a, Day: a, Week: a} }
	g := amount(gibibyte)
	for name, test := range map[string]struct {
		flags       policy.Flags
		evaluations []policy.Evaluation
		due         policy.Amounts
		kept        policy.Amount
	}{
		"due now":                        {0, evaluations(says("a", sized(gibibyte))), at(g), policy.Amount{}},
		"due within a day":               {0, evaluations(says("a", sized(gibibyte), ttl(hour+policy.Day))), policy.Amounts{Day: g, Week: g}, policy.Amount{}},
		"due later":                      {0, evaluations(says("a", sized(gibibyte), ttl(hour+policy.Week+1))), policy.Amounts{}, policy.Amount{}},
		"a dry run":                      {0, evaluations(says("a", sized(gibibyte), dryRun)), at(g), policy.Amount{}},
		"held":                           {policy.IsHeld, evaluations(says("a", sized(gibibyte))), policy.Amounts{}, g},
		"never due":                      {0, evaluations(says("a", sized(gibibyte), ttl(policy.NeverTTL))), policy.Amounts{}, g},
		"kept by another policy":         {0, evaluations(says("a", sized(gibibyte)), says("z", of("q"), failed)), policy.Amounts{}, g},
		"not eligible":                   {0, evaluations(says("a", notEligible)), policy.Amounts{}, policy.Amount{}},
		"two rules":                      {0, evaluations(says("a", sized(1)), says("b", sized(gibibyte))), at(g), policy.Amount{}},
		"another policy knows more":      {0, evaluations(says("a", sized(gibibyte)), says("z", of("q"), sized(5*gibibyte))), at(g), policy.Amount{}},
		"the size is not known":          {0, evaluations(says("a")), policy.Amounts{}, policy.Amount{}},
		"one of two rules gives no size": {0, evaluations(says("a", sized(gibibyte)), says("b")), at(g), policy.Amount{}},
	} {
		t.Run(name, func(t *testing.T) {
			all := policy.NewStats(now)
			all.Prices = prices(t)
			all.Add(policy.Subject{Flags: test.flags}, test.evaluations)
			got := all.Policies["p"]
			expect.Equal(t, "due", test.due, got.DueStorage)
			expect.Equal(t, "kept", test.kept, got.KeptStorage)
		})
	}
}

// TestStorageIsConverted: what a status says is read again by the next leader.
func TestStorageIsConverted(t *testing.T) {
	a := prices(t).Of(claims, policy.Size{Bytes: 10 * gibibyte})
	written := prices(t).Storage(a)
	expect.Equal(t, "written", v1alpha1.Storage{Bytes: 10 * gibibyte, EstimatedMonthlyCost: "1.00"}, written)
	expect.Equal(t, "read", a, policy.AmountOf(written))
	most := policy.Amount{Bytes: math.MaxInt64, Cost: math.MaxInt64}
	expect.Equal(t, "the largest sum", "9223372036.85", policy.AmountOf(prices(t).Storage(most)).Cost.String())
	expect.Equal(t, "without prices", v1alpha1.Storage{Bytes: 10 * gibibyte}, (*policy.Prices)(nil).Storage(a))
}
