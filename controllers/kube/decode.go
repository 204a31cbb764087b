package kube

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// observation is what is left of a decoded object: its row, or for what is no subject only its version. Where what rules say
// depends on more than the object, the row says who it is, and the rules are asked later.
type observation struct {
	listwatch.Rest
	row     *index.FactRow
	version *string     // nil for a row: there are many
	kept    *remembered // nil where the row has the facts
}

// DeepCopyObject gives the observation itself: it never changes.
func (o *observation) DeepCopyObject() runtime.Object { return o }

func (o *observation) GetNamespace() string {
	if o.row == nil {
		return ""
	}
	return o.row.Subject().Namespace
}

func (o *observation) GetName() string {
	if o.row == nil {
		return ""
	}
	return o.row.Subject().Name
}

func (o *observation) GetResourceVersion() string {
	if o.row == nil {
		return *o.version
	}
	return o.row.Subject().ResourceVersion
}

// decoder turns the JSON of an object into facts. It implements stream.Decoder.
type decoder struct {
	kind      schema.GroupVersionKind
	allowance *allowance

	keeps bool                                          // what it takes to ask rules later
	knows func(s policy.Subject, l *index.Columns) bool // what need not be evaluated; nil for nothing

	mu   sync.Mutex // not held while an object is evaluated, so that a change of questions does not wait
	asks *asking
	json func() *engine.Decoder

	one       sync.Mutex // held for one object: an ending watch, the next listing and the end of the source may overlap
	closed    bool
	evaluator *engine.Evaluator
	identity  *engine.Decoder // reads what tells subjects apart
}

// newDecoder makes a decoder, which owns the evaluator from now on.
func newDecoder(q retention.RuleSet, e *engine.Evaluator, a *allowance) *decoder {
	d := &decoder{kind: q.Kind, allowance: a, evaluator: e, identity: engine.NewDecoder()}
	d.ask(q)
	return d
}

// ask changes what is asked of objects from now on, but for one that is being asked about.
func (d *decoder) ask(q retention.RuleSet) {
	asks, json := newAsking(q), decoderOf(q)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asks, d.json = asks, json
}

func (d *decoder) asked() (*asking, func() *engine.Decoder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asks, d.json
}

// close gives the evaluator back. A read that still runs gets an error.
func (d *decoder) close() {
	d.one.Lock()
	defer d.one.Unlock()
	if !d.closed {
		d.closed = true
		d.evaluator.Close()
	}
}

var errClosed = errors.New("the source has ended")

// Object implements stream.Decoder.
func (d *decoder) Object(data []byte) (listwatch.Object, error) {
	o, err := d.object(data)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Deleted implements stream.Decoder: it gives who it was, without facts.
func (d *decoder) Deleted(data []byte) (listwatch.Object, error) {
	d.one.Lock()
	defer d.one.Unlock()
	o, err := d.observed(data, d.identity, nil)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// object observes an object.
func (d *decoder) object(data []byte) (*observation, error) {
	d.one.Lock()
	defer d.one.Unlock()
	asks, json := d.asked()
	return d.observed(data, json(), asks)
}

var nothingAsked = retention.NamespaceRules{Layout: &index.Columns{}}

func (d *decoder) observed(data []byte, with *engine.Decoder, asks *asking) (*observation, error) {
	if d.closed {
		return nil, errClosed
	}
	object, err := with.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	return d.observe(object, asks)
}

// observe gives what the rules that are asked say about an object; nil asks none.
func (d *decoder) observe(object map[string]any, asks *asking) (*observation, error) {
	// A metadata-only answer calls itself PartialObjectMetadata; the rules know the object by its kind.
	object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	if engine.IsMirror(object) {
		meta, _ := object["metadata"].(map[string]any)
		version := text(meta, "resourceVersion")
		return &observation{version: &version}, nil
	}
	subject, err := engine.SubjectOf(object)
	if err != nil {
		return nil, err
	}
	if subject.UID == "" {
		return nil, fmt.Errorf("%s %s/%s has no UID", d.kind.Kind, subject.Namespace, subject.Name)
	}
	if asks == nil {
		return &observation{row: index.NewFactRow(subject, nothingAsked.Layout)}, nil
	}
	asked := asks.About(subject.Namespace)
	if d.knows != nil && d.knows(subject, asked.Layout) {
		return &observation{version: &subject.ResourceVersion}, nil
	}
	if d.keeps && len(asked.Rules) > 0 {
		kept, err := asks.keep(subject.ResourceVersion, object)
		return &observation{row: index.NewFactRow(subject, nothingAsked.Layout), kept: kept}, err
	}
	facts, again := d.allowance.ask(d.evaluator, asks.RuleSet, subject.Namespace, object)
	return &observation{row: index.NewFactRow(subject, asked.Layout, facts...).AskAgain(again)}, nil
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
