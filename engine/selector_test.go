// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLabelMayHaveAnEmptyValue: a label with an empty value exists.
func TestLabelMayHaveAnEmptyValue(t *testing.T) {
	exists := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "done", Operator: metav1.LabelSelectorOpExists}}}
	empty := &metav1.LabelSelector{MatchLabels: map[string]string{"done": ""}}
	for name, test := range map[string]struct {
		labels objectLabels
		want   bool
	}{
		"empty": {objectLabels{"done": ""}, true}, "missing": {objectLabels{"other": ""}, false}, "none": {nil, false},
	} {
		for _, written := range []*metav1.LabelSelector{exists, empty} {
			s, err := selectorOf(written, "selector")
			if err != nil {
				t.Fatal(err)
			}
			if s.Matches(test.labels) != test.want {
				t.Errorf("%s: %s matches: %v", name, s, !test.want)
			}
		}
	}
}
