// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Selection finds the rules that may select an object, without matching the selector of each rule. It is immutable and
// safe for concurrent use.
type Selection struct {
	selectors *policy.SelectorIndex
	byMark    map[string][]int
}

// NewSelection returns a Selection of these rules. It knows them by their positions.
func NewSelection(rules []*Program) *Selection {
	s, selectors := &Selection{byMark: map[string][]int{}}, make([]policy.RequiredLabels, len(rules))
	for i, r := range rules {
		selectors[i] = r.required
		if len(r.required) > 0 && r.mark != "" {
			s.byMark[r.mark] = append(s.byMark[r.mark], i)
		}
	}
	s.selectors = policy.NewSelectorIndex(selectors)
	return s
}

// Of returns the positions of the rules that may select an object, or whose mark the object has, in their order. The caller must
// not change the result. A nil Selection has no rules.
func (s *Selection) Of(object map[string]any) []int {
	if s == nil {
		return nil
	}
	metadata, marked := mapOf(object, "metadata"), []int(nil)
	if text := textOf(mapOf(metadata, "annotations"), v1alpha1.EligibleSinceAnnotation); text != "" && len(s.byMark) > 0 {
		for mark := range policy.ParseMarks(text) {
			marked = append(marked, s.byMark[mark]...)
		}
	}
	return s.selectors.Of(func(yield func(key, value string) bool) {
		for key, value := range mapOf(metadata, "labels") {
			if value, ok := value.(string); ok && !yield(key, value) {
				return
			}
		}
	}, marked...)
}
