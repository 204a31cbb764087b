// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// keptObject is what the reevaluator keeps of one version of an object.
type keptObject struct {
	version string
	text    string     // the fields that the rules read, as JSON
	rules   *keptRules // nil if the results depend on the object alone; then text is empty
}

// keptRules is the rules for the objects of a namespace. A kept object is evaluated again with the same rules, because only the fields
// that those rules read were kept.
type keptRules struct {
	retention.RuleSet                        // without those of other namespaces, which change at other times
	json              func() *engine.Decoder // of what is kept; the caller holds the lock of the reevaluator
}

func newKeptRules(q retention.RuleSet) *keptRules { return &keptRules{q, decoderOf(q)} }

// isFor reports whether a set has the same rules for the objects of a namespace.
func (a *keptRules) isFor(q retention.RuleSet, namespace string) bool {
	return a.Everywhere.Layout == q.Everywhere.Layout && a.About(namespace).Layout == q.About(namespace).Layout
}

// decoderOf returns a func that makes a decoder for what rules read when it is first called: rules can change often between
// objects.
func decoderOf(q retention.RuleSet) func() *engine.Decoder {
	return sync.OnceValue(func() *engine.Decoder { return engine.NewDecoder(q.Rules()...) })
}

// keep encodes what was read of an object, without its apiVersion and kind.
func (a *keptRules) keep(version string, object map[string]any) (*keptObject, error) {
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	var text bytes.Buffer
	written := json.NewEncoder(&text)
	written.SetEscapeHTML(false)
	if err := written.Encode(object); err != nil {
		return nil, fmt.Errorf("keep %s: %w", a.Kind.Kind, err)
	}
	return &keptObject{version: version, text: string(bytes.TrimSpace(text.Bytes())), rules: a}, nil
}

// read decodes what was kept.
func (a *keptRules) read(text string) (policy.Subject, map[string]any, error) {
	object, err := a.json().Decode([]byte(text))
	if err != nil {
		return policy.Subject{}, nil, err
	}
	object["apiVersion"], object["kind"] = a.Kind.GroupVersion().String(), a.Kind.Kind
	subject, err := engine.SubjectOf(object)
	return subject, object, err
}
