package policy

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Document is a ClusterRetentionPolicy as written, read strictly: what is not understood is a problem, never ignored.
type Document struct {
	Policy v1alpha1.ClusterRetentionPolicy // all that could be read
	// Problems of the document. One that lies below spec.rules[i] concerns that rule, any other every rule.
	Problems []Problem
}

// envelope is a policy with its fields left raw, so that one that cannot be read does not hide the others. Metadata is
// the API server's to check: a newer one may have fields that we do not know.
type envelope struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        json.RawMessage `json:"metadata"`
	Spec            *spec           `json:"spec"`
	Status          json.RawMessage `json:"status"`
}

type spec struct {
	Mode              json.RawMessage   `json:"mode"`
	NamespaceSelector json.RawMessage   `json:"namespaceSelector"`
	ExcludeNamespaces json.RawMessage   `json:"excludeNamespaces"`
	Variables         json.RawMessage   `json:"variables"`
	Rules             []json.RawMessage `json:"rules"`
}

// Parse reads the JSON of a ClusterRetentionPolicy. The error says that it could not be read at all; everything else
// that is wrong is a Problem of the Document.
func Parse(data []byte) (*Document, error) {
	var e envelope
	strict, err := sigsjson.UnmarshalStrict(data, &e)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	d := &Document{}
	d.Policy.TypeMeta = e.TypeMeta
	if e.Metadata != nil {
		if err := sigsjson.UnmarshalCaseSensitivePreserveInts(e.Metadata, &d.Policy.ObjectMeta); err != nil {
			return nil, fmt.Errorf("read metadata: %w", err)
		}
	}
	d.addStrict("", strict)
	if e.Spec == nil {
		d.Problems = append(d.Problems, Problem{Path: "spec", Message: "missing", Hint: "a policy needs spec.rules"})
		return d, nil
	}
	d.parseSpec(e.Spec)
	return d, nil
}

func (d *Document) parseSpec(raw *spec) {
	s := &d.Policy.Spec
	if !d.read("spec.mode", raw.Mode, &s.Mode) {
		s.Mode = v1alpha1.Mode(raw.Mode) // no mode either, and so not taken for the default
	}
	d.read("spec.namespaceSelector", raw.NamespaceSelector, &s.NamespaceSelector)
	d.read("spec.excludeNamespaces", raw.ExcludeNamespaces, &s.ExcludeNamespaces)
	d.read("spec.variables", raw.Variables, &s.Variables)
	s.Rules = make([]v1alpha1.Rule, len(raw.Rules))
	for i, rule := range raw.Rules {
		d.parseRule(fmt.Sprintf("spec.rules[%d]", i), rule, &s.Rules[i])
	}
}

// parseRule reads one rule. What can be read of one with a field of the wrong type stays, so that what the rule may be
// about is kept; a selector that cannot be read may mean anything.
func (d *Document) parseRule(path string, raw json.RawMessage, rule *v1alpha1.Rule) {
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
