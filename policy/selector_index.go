// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// SelectorIndex finds the label selectors that may select an object, without matching each of them. It knows them by their
// positions. It is immutable and safe for concurrent use.
type SelectorIndex struct {
	always  []int
	byLabel map[label][]int
}

// RequiredLabels are, for each requirement of a selector that lists values, the labels of which an object has exactly one if the
// selector selects it. It is nil for a selector without such requirements.
type RequiredLabels [][]label

type label struct{ key, value string }

// mostRequired is how many values of one requirement a SelectorIndex looks up. A requirement with more excludes few objects, and
// would cost time at each change of the selectors.
const mostRequired = 32

// RequiredLabelsOf returns the labels that a selector requires; nil for a nil selector.
func RequiredLabelsOf(s labels.Selector) (all RequiredLabels) {
	if s == nil {
		return nil
	}
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			values := r.ValuesUnsorted()
			if len(values) > mostRequired {
				continue
			}
			one := make([]label, len(values))
			for i, value := range values {
				one[i] = label{r.Key(), value}
			}
			all = append(all, one)
		}
	}
	return all
}

// NewSelectorIndex returns an index of the selectors that require these labels.
func NewSelectorIndex(selectors []RequiredLabels) *SelectorIndex {
	x := &SelectorIndex{byLabel: map[label][]int{}}
	users := map[label]int{}
	for _, required := range selectors {
		for _, one := range required {
			for _, l := range one {
				users[l]++
			}
		}
	}
	mostUsers := func(required []label) int {
		most := 0
		for _, l := range required {
			most = max(most, users[l])
		}
		return most
	}
	for i, required := range selectors {
		if len(required) == 0 {
			x.always = append(x.always, i)
			continue
		}
		// A label that few selectors require excludes most objects.
		rarest := slices.MinFunc(required, func(a, b []label) int { return cmp.Compare(mostUsers(a), mostUsers(b)) })
		for _, l := range rarest {
			x.byLabel[l] = append(x.byLabel[l], i)
		}
	}
	return x
}

// Of returns the positions of the selectors that may select an object with these labels, and others, each once and in ascending
// order. The caller must not change the result.
func (x *SelectorIndex) Of(object iter.Seq2[string, string], others ...int) []int {
	found := others
	for key, value := range object {
		found = append(found, x.byLabel[label{key, value}]...)
	}
	if len(found) == 0 {
		return x.always
	}
	found = append(found, x.always...)
	slices.Sort(found)
	return slices.Compact(found)
}
