// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// AddDue adds a sample of a due subject, if it is among the first.
func (t *RuleStats) AddDue(sample v1alpha1.DueSample) {
	t.Soonest = keepFirst(t.Soonest, SoonestKept, compareDue, sample)
}

// AddError adds a sample of an error, if it is among the first, and shortens its message.
func (t *RuleStats) AddError(sample v1alpha1.ErrorSample) {
	sample.Message = Shorten(sample.Message, messageLimit)
	t.Failing = keepFirst(t.Failing, FailingKept, compareErrors, sample)
}

// keepFirst keeps the first n in order, so that samples do not depend on the order in which subjects are counted.
func keepFirst[S any](kept []S, n int, compare func(a, b S) int, sample S) []S {
	if len(kept) == n && compare(sample, kept[n-1]) >= 0 {
		return kept
	}
	at, _ := slices.BinarySearchFunc(kept, sample, compare)
	kept = slices.Insert(kept, at, sample)
	return kept[:min(len(kept), n)]
}

func compareDue(a, b v1alpha1.DueSample) int {
	if byTime := a.DueTime.Time.Compare(b.DueTime.Time); byTime != 0 { // as for most; cmp.Or would read the names too, which are rarely in the processor's cache
		return byTime
	}
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func compareErrors(a, b v1alpha1.ErrorSample) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// MaxConditionMessage is the maximum length of metav1.Condition.Message: the API server rejects a status with a longer message.
const MaxConditionMessage = 32768

// Shorten cuts a text to at most limit bytes, including three dots at its end, and never inside a character.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}

// addKept counts subjects that the rule keeps; names are those of the first.
func (r *RuleStats) addKept(reason Reason, objects int64, names ...string) {
	if r.Kept == nil {
		r.Kept = map[Reason]Kept{}
	}
	k := r.Kept[reason]
	k.Objects += objects
	for _, name := range names {
		k.First = keepFirst(k.First, FailingKept, strings.Compare, name)
	}
	r.Kept[reason] = k
}
