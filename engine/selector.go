// SPDX-License-Identifier: Apache-2.0

package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy"
)

// selectorOf parses a label selector. It returns nil if the selector selects everything, as an absent or empty selector
// does.
func selectorOf(written *metav1.LabelSelector, path string) (labels.Selector, *policy.Problem) {
	if written == nil {
		return nil, nil
	}
	s, err := metav1.LabelSelectorAsSelector(written)
	if err != nil {
		at, message, hint := policy.SelectorProblem(path, written, err)
		return nil, &policy.Problem{Path: at, Message: message, Hint: hint}
	}
	if s.Empty() {
		return nil, nil
	}
	return s, nil
}

// objectLabels are the labels of a decoded object. Matching does not copy them.
type objectLabels map[string]any

var _ labels.Labels = objectLabels(nil)

// Has implements labels.Labels.
func (l objectLabels) Has(name string) bool {
	_, ok := l.Lookup(name)
	return ok
}

// Get implements labels.Labels.
func (l objectLabels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// Lookup implements labels.Labels.
func (l objectLabels) Lookup(name string) (string, bool) {
	value, ok := l[name].(string)
	return value, ok
}
