// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
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

// TestSelectorWithAValueOfAnotherTypeIsAnError: without the value, the selector could match no object, so that the selecting object
// would count as unused.
func TestSelectorWithAValueOfAnotherTypeIsAnError(t *testing.T) {
	expression := func(key, operator, values any) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": key, "operator": operator, "values": values}}}
	}
	for name, test := range map[string]struct {
		written any
		want    string // the selector, or the error
	}{
		"labels":                   {map[string]any{"matchLabels": map[string]any{"app": "web"}}, "app=web"},
		"expressions":              {expression("app", "In", []any{"a", "b"}), "app in (a,b)"},
		"null as labels":           {map[string]any{"matchLabels": nil, "matchExpressions": []any{}}, ""},
		"null as expressions":      {map[string]any{"matchLabels": map[string]any{"app": "web"}, "matchExpressions": nil}, "app=web"},
		"an integer as a label":    {map[string]any{"matchLabels": map[string]any{"shard": int64(7)}}, "matchLabels: shard: is int, must be string"},
		"a boolean as a label":     {map[string]any{"matchLabels": map[string]any{"ready": true}}, "matchLabels: ready: is bool, must be string"},
		"null as a label":          {map[string]any{"matchLabels": map[string]any{"app": nil}}, "matchLabels: app: is null, must be string"},
		"an integer among values":  {expression("shard", "In", []any{"a", int64(7)}), "matchExpressions: element 0: values: element 1: is int, must be string"},
		"a boolean among values":   {expression("ready", "NotIn", []any{false}), "matchExpressions: element 0: values: element 0: is bool, must be string"},
		"null among values":        {expression("app", "In", []any{nil}), "matchExpressions: element 0: values: element 0: is null, must be string"},
		"an integer as a key":      {map[string]any{"matchLabels": map[int64]any{7: "web"}}, "matchLabels: a key is int, must be string"},
		"a string as labels":       {map[string]any{"matchLabels": "app=web"}, "cannot restore map from string"},
		"a map of labels":          {map[string]any{"app": "web"}, "a label selector has matchLabels and matchExpressions, but not app"},
		"an unknown key":           {map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "Exists", "value": "web"}}}, `strict decoding error: unknown field "matchExpressions[0].value"`},
		"a value without operator": {expression("app", "", []any{"web"}), `"" is not a valid label selector operator`},
	} {
		t.Run(name, func(t *testing.T) {
			for form, adapter := range map[string]types.Adapter{"decoded JSON": adapter{}, "a map of CEL": types.DefaultTypeAdapter} {
				s, err := toSelector(adapter.NativeToValue(test.written))
				got := fmt.Sprint(s)
				if err != nil {
					got = err.Error()
				}
				if got != test.want {
					t.Errorf("%s: got %q, want %q", form, got, test.want)
				}
			}
		})
	}
}

// TestSelectorIsBounded: each list contains the one before twice.
func TestSelectorIsBounded(t *testing.T) {
	var list any = []any{"x", "x"}
	for range 30 {
		list = []any{list, list}
	}
	_, err := toSelector(adapter{}.NativeToValue(map[string]any{"matchExpressions": list}))
	if err == nil || !strings.Contains(err.Error(), "has more than 100000 values") {
		t.Errorf("error %v", err)
	}
}
