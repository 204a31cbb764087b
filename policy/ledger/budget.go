package ledger

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	// Skew is by how much the clocks of two leaders may differ. What is spent counts for so much longer.
	Skew = 10 * time.Second

	// buckets is how many spendings there are at most within a window.
	buckets = 60
	// maxSpent bounds them before anybody has said what the window is.
	maxSpent = 4 * buckets
)

// Charged is how much counts against the budget by now: what is open, and what was spent within the window.
func (k *Machine) Charged(now time.Time, budget *Budget) int64 {
	if k.stored == nil {
		return 0
	}
	return int64(len(k.open)) + budget.spent(k.stored.Spent, now)
}

// FreeAt is when the budget lets something go again, if nothing else happens: zero if it does now. If what is open uses it
// up alone, that is when it would if all of that ended now.
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

// EasesAt is when the next of what was spent does not count any more: zero when nothing was.
func (k *Machine) EasesAt(now time.Time, budget *Budget) time.Time {
	if budget == nil || k.stored == nil {
		return time.Time{}
	}
	if left := budget.prune(k.stored.Spent, now); len(left) > 0 {
		return budget.expiry(left[0])
	}
	return time.Time{}
}

// expiry is from when on a spending does not count any more.
func (b *Budget) expiry(s v1alpha1.LedgerSpending) time.Time {
	return s.Until.Add(b.Window + Skew)
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

// prune drops what does not count any more, and puts together what ended within the same part of the window, as if all of
// it had ended when the last of it did.
func (b *Budget) prune(all []v1alpha1.LedgerSpending, now time.Time) []v1alpha1.LedgerSpending {
	if b == nil {
		return all // limits may come back; their number is bounded anyway
	}
	var kept []v1alpha1.LedgerSpending
	width := max(b.Window/buckets, time.Microsecond)
	for _, s := range all {
		last := len(kept) - 1
		switch {
		case !now.Before(b.expiry(s)):
		case last >= 0 && kept[last].Until.Truncate(width).Equal(s.Until.Truncate(width)):
			kept[last] = joined(kept[last], s)
		default:
			kept = append(kept, s)
		}
	}
	return kept
}

// spend adds n deletions that end now. The time never goes back, whatever the clocks of those who wrote before.
func spend(all []v1alpha1.LedgerSpending, now time.Time, n int64) []v1alpha1.LedgerSpending {
	if n == 0 {
		return all
	}
	s := v1alpha1.LedgerSpending{Until: metav1.NewMicroTime(roundUp(now)), Count: n}
	if last := len(all) - 1; last >= 0 && !all[last].Until.Time.Before(s.Until.Time) {
		all = slices.Clone(all)
		all[last] = joined(all[last], s)
		return all
	}
	return halve(append(slices.Clip(all), s))
}

// roundUp gives the next time that can be written down.
func roundUp(t time.Time) time.Time {
	if down := t.UTC().Truncate(time.Microsecond); down.Before(t) {
		return down.Add(time.Microsecond)
	}
	return t.UTC().Truncate(time.Microsecond)
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
	until := a.Until
	if until.Time.Before(b.Until.Time) {
		until = b.Until
	}
	return v1alpha1.LedgerSpending{Until: until, Count: a.Count + b.Count}
}
