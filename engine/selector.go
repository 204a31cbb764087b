// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sunset-k8s/sunset/engine/syntax"
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

// Selector returns the label selector of an object; nil if it selects nothing. It comes from SelectorExtractor. Like References,
// it does not change or keep the object. After an error it is unknown what the object selects.
func (e *Evaluator) Selector(x *Extractor, object map[string]any) (labels.Selector, error) {
	return extract(e, x, object, selecting, toSelector)
}

// Labels returns the labels that an Extractor of LabelsExtractor reads, as Selector does.
func (e *Evaluator) Labels(x *Extractor, object map[string]any) (labels.Set, error) {
	return extract(e, x, object, labelling, toLabels)
}

// toSelector converts the result of a selector. A value of a wrong type is an error, because a selector without the value could
// match fewer objects than its author meant.
func toSelector(v ref.Val) (labels.Selector, error) {
	if v == types.NullValue {
		return nil, nil
	}
	parts, isMap := v.(traits.Mapper)
	if !isMap {
		return nil, unexpected(selecting, v)
	}
	written, rest := map[string]any{}, maxSelectorValues
	for i := parts.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, _ := key.(types.String)
		if name != "matchLabels" && name != "matchExpressions" { // a map of labels would otherwise select everything
			return nil, fmt.Errorf("a label selector has matchLabels and matchExpressions, but not %s", shorten(fmt.Sprint(key.Value())))
		}
		part := parts.Get(key)
		if part == types.NullValue {
			continue
		}
		value, err := jsonOf(part, &rest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		written[string(name)] = value
	}
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(written, &s, true); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&s)
}

// toLabels converts the result of labels.
func toLabels(v ref.Val) (labels.Set, error) {
	written, isMap := v.(traits.Mapper)
	if !isMap {
		return nil, unexpected(labelling, v)
	}
	all := labels.Set{}
	for i := written.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, isName := key.(types.String)
		value, isText := written.Get(key).(types.String)
		if !isName || !isText {
			return nil, fmt.Errorf("label %s is not a string", shorten(fmt.Sprint(key.Value())))
		}
		all[string(name)] = string(value)
	}
	return all, nil
}

// maxSelectorValues is the maximum number of strings, lists and maps in a selector. A few lists, each with the one before twice, would
// otherwise become millions.
const maxSelectorValues = 100_000

// jsonOf converts strings, lists and maps with strings as keys to the forms of decoded JSON. Any other value is an error, and so are more
// values than rest.
func jsonOf(v ref.Val, rest *int) (any, error) {
	if *rest--; *rest < 0 {
		return nil, fmt.Errorf("has more than %d values", maxSelectorValues)
	}
	switch x := v.(type) {
	case types.String:
		return string(x), nil
	case traits.Mapper:
		all := map[string]any{}
		for i := x.Iterator(); i.HasNext() == types.True; {
			key := i.Next()
			name, isText := key.(types.String)
			if !isText {
				return nil, fmt.Errorf("a key is %s, must be string", syntax.TypeName(key.Type().TypeName()))
			}
			value, err := jsonOf(x.Get(key), rest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", shorten(string(name)), err)
			}
			all[string(name)] = value
		}
		return all, nil
	case traits.Lister:
		size, _ := x.Size().(types.Int)
		list := make([]any, size)
		for i := range list {
			value, err := jsonOf(x.Get(types.Int(i)), rest)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			list[i] = value
		}
		return list, nil
	}
	return nil, fmt.Errorf("is %s, must be string", syntax.TypeName(v.Type().TypeName()))
}
