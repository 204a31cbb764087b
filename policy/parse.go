// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Document is a ClusterRetentionPolicy or a RetentionPolicy as written. It is read strictly: an unknown field is a problem and is
// not ignored.
type Document struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta
	Spec     Spec // all fields that could be read
	// Problems of the document. A problem below spec.rules[i] concerns that rule, below spec.overrides[i] that override, below
	// spec.references the rules that read references. Any other problem concerns everything.
	Problems []Problem
	// Meant are the fields that misspelt and misplaced fields were probably meant to be.
	Meant []Meant
}

// Spec has the fields of both kinds of policy. Fields that the kind does not have are zero. A new field must have omitempty, so
// that it does not change the hashes of existing policies.
type Spec struct {
	Mode               v1alpha1.Mode
	NamespaceSelector  *metav1.LabelSelector
	ExcludeNamespaces  []string
	Overrides          []v1alpha1.RuleOverride
	Variables          []v1alpha1.Variable
	Rules              []v1alpha1.Rule
	ServiceAccountName string
	Approval           *v1alpha1.Approval
	Limits             *v1alpha1.Limits     `json:",omitempty"`
	References         []v1alpha1.Reference `json:",omitempty"`
	Windows            []v1alpha1.Window    `json:",omitempty"`
	Freezes            []v1alpha1.Freeze    `json:",omitempty"`
}

// Namespaced reports whether the document is a RetentionPolicy.
func (d *Document) Namespaced() bool { return d.Kind == v1alpha1.RetentionPolicyKind.Kind }

// envelope is a policy with raw fields, so that an unreadable field does not hide the others. The API server checks the metadata,
// because a newer API server can have unknown fields there.
type envelope struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        json.RawMessage `json:"metadata"`
	Spec            json.RawMessage `json:"spec"`
	Status          json.RawMessage `json:"status"`
}

// both are the fields that both kinds of policy have.
type both struct {
	Mode      json.RawMessage   `json:"mode"`
	Variables json.RawMessage   `json:"variables"`
	Rules     []json.RawMessage `json:"rules"`
	Approval  json.RawMessage   `json:"approval"`
	Limits    json.RawMessage   `json:"limits"`
	Windows   json.RawMessage   `json:"windows"`
	Freezes   json.RawMessage   `json:"freezes"`
}

type clusterSpec struct {
	both              `json:",inline"`
	NamespaceSelector json.RawMessage `json:"namespaceSelector"`
	ExcludeNamespaces json.RawMessage `json:"excludeNamespaces"`
	References        json.RawMessage `json:"references"`
}

type namespacedSpec struct {
	both               `json:",inline"`
	Overrides          []json.RawMessage `json:"overrides"`
	ServiceAccountName json.RawMessage   `json:"serviceAccountName"`
}

// unreadMetadata names the field of the metadata that has the wrong type.
func unreadMetadata(err error) error {
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return fmt.Errorf("read metadata: %w", err)
	}
	hint := ""
	if wrong.Type.Kind() == reflect.String && (wrong.Value == "bool" || strings.HasPrefix(wrong.Value, "number")) {
		hint = fmt.Sprintf(" (%sthis as a %s)", quotesHint, map[bool]string{true: "boolean", false: "number"}[wrong.Value == "bool"])
	}
	return fmt.Errorf("metadata.%s: %s given, %s expected%s", wrong.Field, wrong.Value, typeName(wrong.Type), hint)
}

// Parse reads the JSON of a policy: a RetentionPolicy if its kind says so, otherwise a ClusterRetentionPolicy. It returns an
// error if the document cannot be read at all; all other mistakes are Problems of the Document.
func Parse(data []byte) (*Document, error) {
	var e envelope
	strict, err := sigsjson.UnmarshalStrict(data, &e)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	d := &Document{TypeMeta: e.TypeMeta}
	if e.Metadata != nil {
		if err := sigsjson.UnmarshalCaseSensitivePreserveInts(e.Metadata, &d.Metadata); err != nil {
			return nil, unreadMetadata(err)
		}
	}
	d.addStrict("", data, strict)
	switch {
	case e.Spec == nil || string(e.Spec) == "null":
		d.Problems = append(d.Problems, Problem{Path: "spec", Message: "missing", Hint: "a policy needs spec.rules"})
	case d.Namespaced():
		d.parseNamespaced(e.Spec)
	default:
		d.parseCluster(e.Spec)
	}
	return d, nil
}

func (d *Document) parseCluster(raw json.RawMessage) {
	var s clusterSpec
	d.read("spec", raw, &s)
	d.refuseNulls("spec", raw, "namespaceSelector", "excludeNamespaces")
	d.parseBoth(&s.both)
	d.read("spec.namespaceSelector", s.NamespaceSelector, &d.Spec.NamespaceSelector)
	d.read("spec.excludeNamespaces", s.ExcludeNamespaces, &d.Spec.ExcludeNamespaces)
	d.Spec.References = readList[v1alpha1.Reference](d, referencesField, s.References)
}

func (d *Document) parseNamespaced(raw json.RawMessage) {
	var s namespacedSpec
	d.read("spec", raw, &s)
	d.parseBoth(&s.both)
	d.read("spec.serviceAccountName", s.ServiceAccountName, &d.Spec.ServiceAccountName)
	d.Spec.Overrides = make([]v1alpha1.RuleOverride, len(s.Overrides))
	for i, override := range s.Overrides {
		d.read(elementPath(overridesField, i), override, &d.Spec.Overrides[i])
	}
}

// readList reads a list element by element, so that each problem has the path of its element. It gives nil only if the list is
// absent or is not a list.
func readList[T any](d *Document, path string, raw json.RawMessage) []T {
	var elements []json.RawMessage
	if d.read(path, raw, &elements); elements == nil {
		return nil
	}
	all := make([]T, len(elements))
	for i, element := range elements {
		d.read(elementPath(path, i), element, &all[i])
	}
	return all
}

func elementPath(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

const variablesField, windowsField, freezesField, overridesField = "spec.variables", "spec.windows", "spec.freezes", "spec.overrides"

func (d *Document) parseBoth(raw *both) {
	s := &d.Spec
	if !d.read("spec.mode", raw.Mode, &s.Mode) {
		s.Mode = v1alpha1.Mode(raw.Mode) // an invalid mode, so that the default does not apply
	}
	d.read(variablesField, raw.Variables, &s.Variables)
	d.read("spec.approval", raw.Approval, &s.Approval)
	d.read("spec.limits", raw.Limits, &s.Limits)
	s.Windows = readList[v1alpha1.Window](d, windowsField, raw.Windows)
	s.Freezes = readList[v1alpha1.Freeze](d, freezesField, raw.Freezes)
	s.Rules = make([]v1alpha1.Rule, len(raw.Rules))
	for i, rule := range raw.Rules {
		d.parseRule(fmt.Sprintf("spec.rules[%d]", i), rule, &s.Rules[i])
	}
}

// isBlank reports whether a field of an object is present, and null or "". A template that did not get a value writes this.
func isBlank(raw json.RawMessage, field string) bool {
	var fields map[string]json.RawMessage
	_ = sigsjson.UnmarshalCaseSensitivePreserveInts(raw, &fields) // d.read reports an error
	value, isThere := fields[field]
	return isThere && (string(value) == "null" || string(value) == `""`)
}

// refuseNulls reports which of the selectors, their lists or their labels are null. Without this, a template that did not get a
// value would select everything.
func (d *Document) refuseNulls(path string, raw json.RawMessage, selectors ...string) {
	object := decode(raw)
	for _, selector := range selectors {
		labels := selector + "." + labelsField
		for _, field := range []string{selector, labels, selector + ".matchExpressions"} {
			dot := strings.LastIndex(field, ".")
			parent, _ := valueAt(object, field[:max(dot, 0)]).(map[string]any)
			if value, isThere := parent[field[dot+1:]]; isThere && value == nil {
				d.addNull(joinPath(path, field))
			}
		}
		pairs, _ := valueAt(object, labels).(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			if pairs[key] == nil {
				d.addNull(joinPath(path, labels+"."+key))
			}
		}
	}
}

func (d *Document) addNull(path string) {
	d.Problems = append(d.Problems, Problem{Path: path, Message: "null", Hint: "write a value, or leave the field out"})
}

// parseRule reads one rule. If a field has the wrong type, it keeps the fields that could be read, so that the rule keeps the
// objects that it may select. A selector that cannot be read may mean any labels.
func (d *Document) parseRule(path string, raw json.RawMessage, rule *v1alpha1.Rule) {
	if isBlank(raw, "eligible") {
		d.Problems = append(d.Problems, Problem{Path: path + ".eligible", Message: "empty", Hint: "write a CEL expression, or leave the field out if every selected object is eligible"})
	}
	d.refuseNulls(path, raw, "target.selector", "nodeSelector")
	if d.read(path, raw, rule) {
		return
	}
	var only struct {
		Target struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"target"`
	}
	if sigsjson.UnmarshalCaseSensitivePreserveInts(raw, &only) != nil {
		rule.Target.Selector = nil
	}
}
