// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Size is the storage that a subject occupies. The zero value means that it is unknown.
type Size struct {
	Bytes int64
	Class string // the name of its StorageClass; empty if it has none
}

// DefaultBytes is the expression of a rule without bytes: the capacity of a PersistentVolumeClaim or PersistentVolume. It is empty
// for all other kinds.
func DefaultBytes(t v1alpha1.Target) string {
	switch (schema.GroupVersionKind{Version: t.APIVersion, Kind: t.Kind}) {
	case schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}:
		return "object.?status.?capacity.?storage"
	case schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}:
		return "object.?spec.?capacity.?storage"
	default:
		return ""
	}
}

// HasBytes reports whether the rule gives the sizes of subjects.
func (r *Rule) HasBytes() bool {
	return r.OnNodes() || r.Spec.Bytes != "" || DefaultBytes(r.Spec.Target) != ""
}

// Amount is storage, and what it costs. The zero value is nothing.
type Amount struct {
	Bytes int64
	Cost  Money // of a month, estimated; 0 without a price
}

// Plus is the sum of both. A sum that is too large becomes the largest number.
func (a Amount) Plus(b Amount) Amount {
	return Amount{Bytes: SumOrMost(a.Bytes, b.Bytes), Cost: Money(SumOrMost(int64(a.Cost), int64(b.Cost)))}
}

// Amounts are the amounts of due subjects by time. Each includes the ones before it.
type Amounts struct{ Now, Hour, Day, Week Amount }

// Plus is the sum of both.
func (d Amounts) Plus(o Amounts) Amounts {
	return Amounts{Now: d.Now.Plus(o.Now), Hour: d.Hour.Plus(o.Hour), Day: d.Day.Plus(o.Day), Week: d.Week.Plus(o.Week)}
}

// Money is a number of billionths of the unit of a currency. It is not negative.
type Money int64

const moneyUnit = 1_000_000_000

// Units is the number of units.
func (m Money) Units() float64 { return float64(m) / moneyUnit }

// String is the number of units with two decimals, such as 12.50.
func (m Money) String() string { return strconv.FormatFloat(m.Units(), 'f', 2, 64) }

// ParseMoney reads a number of units, such as 0.08.
func ParseMoney(text string) (Money, error) {
	units, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(units) || units < 0 || units*moneyUnit >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not an amount of money: write a number, such as 0.08", text)
	}
	return Money(math.Round(units * moneyUnit)), nil
}

// Prices are the prices of storage. A nil *Prices has none.
type Prices struct {
	currency string
	perGiB   map[priced]Money // for a month
}

// priced is what has a price. An empty class means all classes without a price of their own.
type priced struct {
	kind  schema.GroupKind
	class string
}

// ParsePrices reads prices of a GiB for a month, each in the form KIND[.GROUP][/CLASS]=PRICE. Without prices, it returns nil.
func ParsePrices(currency string, prices []string) (*Prices, error) {
	if len(prices) == 0 {
		return nil, nil
	}
	if currency == "" {
		return nil, errors.New("there are prices, but no currency: set the currency, such as EUR")
	}
	p := &Prices{currency: currency, perGiB: map[priced]Money{}}
	for _, written := range prices {
		name, amount, _ := strings.Cut(written, "=")
		kind, class, hasClass := strings.Cut(name, "/")
		price, err := ParseMoney(amount)
		if of := (priced{schema.ParseGroupKind(kind), class}); err == nil && of.kind.Kind != "" && hasClass == (class != "") {
			p.perGiB[of] = price
			continue
		}
		return nil, fmt.Errorf("%q is not a price: write KIND=PRICE or KIND/CLASS=PRICE, such as PersistentVolumeClaim/fast=0.17", written)
	}
	return p, nil
}

// Currency is the currency of the prices; empty if there are none.
func (p *Prices) Currency() string {
	if p == nil {
		return ""
	}
	return p.currency
}

const gibibyte = 1 << 30

// Of is the amount of a subject of a kind, or of several subjects of one class together.
func (p *Prices) Of(kind schema.GroupKind, s Size) Amount {
	a := Amount{Bytes: s.Bytes}
	if p == nil || s.Bytes == 0 {
		return a
	}
	price, known := p.perGiB[priced{kind, s.Class}]
	if !known {
		price = p.perGiB[priced{kind: kind}]
	}
	if cost := math.Round(float64(price) * float64(s.Bytes) / gibibyte); cost < math.MaxInt64 {
		a.Cost = Money(cost)
	} else {
		a.Cost = math.MaxInt64
	}
	return a
}

// OfLargest is the amount of a subject: the largest size that a rule gives which finds it eligible.
func (p *Prices) OfLargest(evaluations []Evaluation) (largest Amount) {
	for i := range evaluations {
		if a := p.ofRule(&evaluations[i]); a.Bytes > largest.Bytes {
			largest = a
		}
	}
	return largest
}

// ofRule is the amount of a subject by one rule.
func (p *Prices) ofRule(r *Evaluation) Amount {
	if !r.Facts.Eligible {
		return Amount{}
	}
	return p.Of(r.Rule.Kind.GroupKind(), r.Facts.Size)
}

// Storage converts an amount. Without prices, it has no cost.
func (p *Prices) Storage(a Amount) v1alpha1.Storage {
	s := v1alpha1.Storage{Bytes: a.Bytes}
	if p != nil {
		s.EstimatedMonthlyCost = a.Cost.String()
	}
	return s
}

// DueStorage converts amounts.
func (p *Prices) DueStorage(d Amounts) v1alpha1.DueStorage {
	return v1alpha1.DueStorage{Now: p.Storage(d.Now), Hour: p.Storage(d.Hour), Day: p.Storage(d.Day), Week: p.Storage(d.Week)}
}

// AmountOf is the amount of a Storage.
func AmountOf(s v1alpha1.Storage) Amount {
	cost, _ := ParseMoney(s.EstimatedMonthlyCost) // 0 without a cost
	return Amount{Bytes: max(0, s.Bytes), Cost: cost}
}

// Format writes an amount of money with its currency, such as "12.50 EUR".
func (p *Prices) Format(m Money) string { return m.String() + " " + p.Currency() }
