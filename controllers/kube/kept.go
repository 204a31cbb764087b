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

// remembered is what the reevaluator keeps of one version of an object.
type remembered struct {
	version string
	text    string  // the fields that the rules read, as JSON
	asks    *asking // nil if the results depend on the object alone; then text is empty
}

// asking is the rules for objects. A kept object is evaluated again with the same rules, because only the fields that those rules
// read were kept.
type asking struct {
	retention.RuleSet
	json func() *engine.Decoder // of what is kept; the caller holds the lock of the reevaluator
}

func newAsking(q retention.RuleSet) *asking { return &asking{q, decoderOf(q)} }

// decoderOf returns a func that makes a decoder for what rules read when it is first called: rules can change often between
// objects.
func decoderOf(q retention.RuleSet) func() *engine.Decoder {
	return sync.OnceValue(func() *engine.Decoder { return engine.NewDecoder(q.Rules()...) })
}

// keep encodes what was read of an object, without its apiVersion and kind.
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

// read decodes what was kept.
func (a *asking) read(text string) (policy.Subject, map[string]any, error) {
	object, err := a.json().Decode([]byte(text))
	if err != nil {
		return policy.Subject{}, nil, err
	}
	object["apiVersion"], object["kind"] = a.Kind.GroupVersion().String(), a.Kind.Kind
	subject, err := engine.SubjectOf(object)
	return subject, object, err
}
