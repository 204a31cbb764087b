// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Selection finds the rules that may select an object, without matching the selector of each rule. It is immutable and
// safe for concurrent use.
type Selection struct {
	always  []int
	byLabel map[label][]int
	byMark  map[string][]int
}

type label struct{ key, value string }

// NewSelection returns a Selection of these rules. It knows them by their positions.
func NewSelection(rules []*Program) *Selection {
	s := &Selection{byLabel: map[label][]int{}, byMark: map[string][]int{}}
	users := map[label]int{}
	for _, r := range rules {
		for _, required := range r.required {
			for _, l := range required {
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
	for i, r := range rules {
		if len(r.required) == 0 {
			s.always = append(s.always, i)
			continue
		}
		if r.mark != "" {
			s.byMark[r.mark] = append(s.byMark[r.mark], i)
		}
		// A label that few rules require excludes most objects.
		rarest := slices.MinFunc(r.required, func(a, b []label) int { return cmp.Compare(mostUsers(a), mostUsers(b)) })
		for _, l := range rarest {
			s.byLabel[l] = append(s.byLabel[l], i)
		}
	}
	return s
}

// mostRequired is how many values of one requirement a Selection looks up. A requirement with more excludes few objects, and would
// cost time at each change of the rules.
const mostRequired = 32

// requiredLabels returns, for each requirement of a selector that lists values, the labels of which an object has exactly one if the
// selector selects it.
func requiredLabels(s labels.Selector) (all [][]label) {
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

// Of returns the positions of the rules that may select an object, or whose mark the object has, in their order. The caller must
// not change the result. A nil Selection has no rules.
func (s *Selection) Of(object map[string]any) []int {
	if s == nil {
		return nil
	}
	metadata, found := mapOf(object, "metadata"), []int(nil)
	for key, value := range mapOf(metadata, "labels") {
		if value, ok := value.(string); ok {
			found = append(found, s.byLabel[label{key, value}]...)
		}
	}
	if text := textOf(mapOf(metadata, "annotations"), v1alpha1.EligibleSinceAnnotation); text != "" && len(s.byMark) > 0 {
		for mark := range policy.ParseMarks(text) {
			found = append(found, s.byMark[mark]...)
		}
	}
	if len(found) == 0 {
		return s.always
	}
	found = append(found, s.always...)
	slices.Sort(found)
	return slices.Compact(found)
}
