// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	labelKeyHint   = "at most 63 letters, digits, - _ and dots; a DNS name and / can precede it"
	labelValueHint = "at most 63 letters, digits, - _ and dots, with a letter or digit at both ends"
	wildcardHint   = "a selector compares whole values, without wildcards: list them in matchExpressions with operator In"
)

// SelectorProblem says where and why a label selector cannot be read, in the terms of the field. If it finds no cause, it gives
// the error of apimachinery, which quotes regular expressions.
func SelectorProblem(path string, selector *metav1.LabelSelector, err error) (at, message, hint string) {
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if message, hint := labelProblem(key, selector.MatchLabels[key]); message != "" {
			return path + "." + labelsField + "." + key, message, hint
		}
	}
	for i, e := range selector.MatchExpressions {
		at := fmt.Sprintf("%s.matchExpressions[%d].", path, i)
		if field, message, hint := requirementProblem(e); message != "" {
			return at + field, message, hint
		}
	}
	return path, err.Error(), ""
}

func labelProblem(key string, values ...string) (message, hint string) {
	if len(validation.IsQualifiedName(key)) > 0 {
		return fmt.Sprintf("%q is not a valid label key", key), labelKeyHint
	}
	for _, value := range values {
		if strings.Contains(value, "*") {
			return fmt.Sprintf("%q is not a valid label value", value), wildcardHint
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			return fmt.Sprintf("%q is not a valid label value", value), labelValueHint
		}
	}
	return "", ""
}

func requirementProblem(e metav1.LabelSelectorRequirement) (field, message, hint string) {
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			return "values", "missing", fmt.Sprintf("%s needs a list of values", e.Operator)
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			return "values", fmt.Sprintf("%s takes no values", e.Operator), "leave values out, or set operator to In or NotIn"
		}
	default:
		return "operator", fmt.Sprintf("%q is not an operator", e.Operator), cmp.Or(operatorHint(string(e.Operator)), "In, NotIn, Exists or DoesNotExist")
	}
	if message, hint = labelProblem(e.Key, e.Values...); hint == labelKeyHint {
		return "key", message, hint
	}
	return "values", message, hint
}

// isNegated matches negated operators of other tools, such as NotExists, nin and !In.
var isNegated = regexp.MustCompile(`(?i)^[!n]|n.?t`)

// operatorHint never proposes the opposite of an operator, which would select the objects to keep.
func operatorHint(written string) string {
	switch {
	case !isNegated.MatchString(written):
		return DidYouMean(written, []string{"In", "Exists"})
	case strings.Contains(strings.ToLower(written), "exist"):
		return "did you mean DoesNotExist?"
	}
	return DidYouMean(strings.TrimPrefix(written, "!"), []string{"NotIn"})
}
