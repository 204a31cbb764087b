// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
)

// span is a period from one moment to another.
type span = checker.Span

// gaps returns the parts of a period that no span covers.
func gaps(whole span, covered []span) (left []span) {
	covered = slices.Clone(covered)
	slices.SortFunc(covered, func(a, b span) int { return a.From.Compare(b.From) })
	at := whole.From
	for _, c := range covered {
		if !c.To.After(at) {
			continue
		}
		if c.From.After(at) {
			left = append(left, span{From: at, To: earlier(c.From, whole.To)})
		}
		if at = c.To; !at.Before(whole.To) {
			return left
		}
	}
	return append(left, span{From: at, To: whole.To})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// chained returns the periods in which each moment follows the previous one within a time. Each starts some time after its
// first moment.
func chained(moments []time.Time, within, after time.Duration) (spans []span) {
	for i := 0; i < len(moments); {
		first := i
		for i++; i < len(moments) && moments[i].Sub(moments[i-1]) <= within; i++ {
		}
		if from := moments[first].Add(after); from.Before(moments[i-1]) {
			spans = append(spans, span{From: from, To: moments[i-1]})
		}
	}
	return spans
}
