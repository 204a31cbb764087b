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

// remembered is what is kept of one version of an object.
type remembered struct {
	version string
	text    string  // what the rules read, as JSON
	asks    *asking // nil where the answers depend on the object alone; there is no text then
}

// asking is what is asked of objects. Whoever is asked again is asked the same, as no more was kept.
type asking struct {
	retention.RuleSet
	json func() *engine.Decoder // of what is kept; for whoever holds the memory
}

func newAsking(q retention.RuleSet) *asking { return &asking{q, decoderOf(q)} }

// decoderOf makes a decoder for what rules read with the first object that it is needed for: questions can change often without any.
func decoderOf(q retention.RuleSet) func() *engine.Decoder {
	return sync.OnceValue(func() *engine.Decoder { return engine.NewDecoder(q.Rules()...) })
}

// keep writes down what was read of an object, but for its kind.
func (a *asking) keep(version string, object map[string]any) (*remembered, error) {
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	var text bytes.Buffer
	written := json.NewEncoder(&text)
	written.SetEscapeHTML(false)
	if err := written.Encode(object); err != nil {
		return nil, fmt.Errorf("keep %s: %w", a.Kind.Kind, err)
	}
	return &remembered{version: version, text: string(bytes.TrimSpace(text.Bytes())), asks: a}, nil
}

// read gives back what was kept.
func (a *asking) read(text string) (policy.Subject, map[string]any, error) {
	object, err := a.json().Decode([]byte(text))
	if err != nil {
		return policy.Subject{}, nil, err
	}
	object["apiVersion"], object["kind"] = a.Kind.GroupVersion().String(), a.Kind.Kind
	subject, err := engine.SubjectOf(object)
	return subject, object, err
}
