// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"reflect"
	"slices"

	sigsjson "sigs.k8s.io/json"
)

// written is the fields of a policy in a request whose changes matter.
type written struct {
	Spec map[string]any `json:"spec"`
}

// readWritten decodes a policy. It returns nil if data is empty.
func readWritten(data []byte) (*written, error) {
	if len(data) == 0 {
		return nil, nil
	}
	w := &written{}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, w); err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return w, nil
}

func (w *written) mode() string {
	mode, _ := w.Spec["mode"].(string)
	return mode
}

// rules returns the rules by name; none for a policy that does not exist.
func (w *written) rules() map[string]map[string]any {
	byName := map[string]map[string]any{}
	if w == nil {
		return byName
	}
	list, _ := w.Spec["rules"].([]any)
	for _, rule := range list {
		fields, _ := rule.(map[string]any)
		name, _ := fields["name"].(string)
		byName[name] = fields
	}
	return byName
}

// differs reports whether any of these fields of the spec differs.
func (w *written) differs(o *written, fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return !reflect.DeepEqual(w.Spec[field], o.Spec[field]) })
}

// lacksFreeze reports whether a freeze of another version is missing or was changed.
func (w *written) lacksFreeze(o *written) bool {
	freezes, _ := w.Spec["freezes"].([]any)
	before, _ := o.Spec["freezes"].([]any)
	return slices.ContainsFunc(before, func(freeze any) bool {
		return !slices.ContainsFunc(freezes, func(f any) bool { return reflect.DeepEqual(f, freeze) })
	})
}
