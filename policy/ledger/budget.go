// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// Skew is the maximum difference between the clocks of two leaders. Spent deletions count for that much longer.
	Skew = 10 * time.Second

	// buckets is the maximum number of spendings within a window.
	buckets = 60
	// maxSpent is their maximum number while the window is unknown.
	maxSpent = 4 * buckets
)

// Charged is how many deletions count against the budget now: the open entries, and the deletions spent within the window.
func (k *Machine) Charged(now time.Time, budget *Budget) int64 {
	if k.stored == nil {
		return 0
	}
	return int64(len(k.open)) + budget.spent(k.stored.Spent, now)
}

// FreeAt is when the budget allows the next deletion, if nothing else happens: zero if it allows one now. If the open entries use
// up the budget alone, it is the time at which it would allow one if all of them ended now.
func (k *Machine) FreeAt(now time.Time, budget *Budget) time.Time {
	charged := k.Charged(now, budget)
	if budget == nil || k.stored == nil || charged < budget.Max {
		return time.Time{}
	}
	for _, s := range budget.prune(k.stored.Spent, now) {
		if charged -= s.Count; charged < budget.Max {
			return budget.expiry(s)
		}
	}
	return now.Add(budget.Window + Skew)
}

// EasesAt is when the next spent deletion stops counting: zero if none counts.
func (k *Machine) EasesAt(now time.Time, budget *Budget) time.Time {
	if budget == nil || k.stored == nil {
		return time.Time{}
	}
	if left := budget.prune(k.stored.Spent, now); len(left) > 0 {
		return budget.expiry(left[0])
	}
	return time.Time{}
}

// expiry is the time from which a spending no longer counts.
func (b *Budget) expiry(s v1alpha1.LedgerSpending) time.Time {
	return s.EndTime.Add(b.Window + Skew)
}

func (b *Budget) spent(all []v1alpha1.LedgerSpending, now time.Time) int64 {
	var n int64
	for _, s := range all {
		if b != nil && now.Before(b.expiry(s)) {
			n += s.Count
		}
	}
	return n
}

// prune drops the spendings that no longer count, and joins those that ended within the same part of the window, as if all had
// ended with the last of them.
func (b *Budget) prune(all []v1alpha1.LedgerSpending, now time.Time) []v1alpha1.LedgerSpending {
	if b == nil {
		return all // limits may be set again; the number of spendings is bounded anyway
	}
	var kept []v1alpha1.LedgerSpending
	width := max(b.Window/buckets, time.Microsecond)
	for _, s := range all {
		last := len(kept) - 1
		switch {
		case !now.Before(b.expiry(s)):
		case last >= 0 && kept[last].EndTime.Truncate(width).Equal(s.EndTime.Truncate(width)):
			kept[last] = joined(kept[last], s)
		default:
			kept = append(kept, s)
		}
	}
	return kept
}

// spend adds n deletions that end now. The time never decreases, even if the clocks of earlier leaders were ahead.
func spend(all []v1alpha1.LedgerSpending, now time.Time, n int64) []v1alpha1.LedgerSpending {
	if n == 0 {
		return all
	}
	s := v1alpha1.LedgerSpending{EndTime: metav1.NewMicroTime(policy.RoundUp(now, time.Microsecond)), Count: n}
	if last := len(all) - 1; last >= 0 && !all[last].EndTime.Time.Before(s.EndTime.Time) {
		all = slices.Clone(all)
		all[last] = joined(all[last], s)
		return all
	}
	return halve(append(slices.Clip(all), s))
}

// halve joins neighbours when there are too many.
func halve(all []v1alpha1.LedgerSpending) []v1alpha1.LedgerSpending {
	if len(all) <= maxSpent {
		return all
	}
	var half []v1alpha1.LedgerSpending
	for pair := range slices.Chunk(all, 2) {
		one := pair[0]
		if len(pair) == 2 {
			one = joined(one, pair[1])
		}
		half = append(half, one)
	}
	return half
}

func joined(a, b v1alpha1.LedgerSpending) v1alpha1.LedgerSpending {
	until := a.EndTime
	if until.Time.Before(b.EndTime.Time) {
		until = b.EndTime
	}
	return v1alpha1.LedgerSpending{EndTime: until, Count: a.Count + b.Count}
}
