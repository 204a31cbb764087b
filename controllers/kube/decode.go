package kube

import (
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// observation is what is kept of a decoded object: its row, or only its version if the object needs no row. If rules also read
// references, the row has only the identity of the object, and the rules are evaluated later.
type observation struct {
	row     *index.FactRow
	version *string     // nil if there is a row, to save memory
	kept    *remembered // nil if the row has the facts
}

// DeepCopyObject returns the observation itself, which never changes.
func (o *observation) DeepCopyObject() runtime.Object { return o }

// GetObjectKind implements runtime.Object.
func (o *observation) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// GetObjectMeta implements listwatch.Object.
func (o *observation) GetObjectMeta() metav1.Object {
	if o.row == nil {
		return &metav1.ObjectMeta{ResourceVersion: *o.version}
	}
	s := o.row.Subject()
	return &metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, ResourceVersion: s.ResourceVersion}
}

// decoder turns the JSON of an object into facts. It implements listwatch.Decoder.
type decoder struct {
	kind      schema.GroupVersionKind
	allowance *allowance

	keeps bool                                          // keep what the rules read, and evaluate them later
	knows func(s policy.Subject, l *index.Columns) bool // whether a subject needs no evaluation; nil if all need one

	mu   sync.Mutex // not held during an evaluation, so that ask does not wait for one
	asks *asking
	json func() *engine.Decoder

	one       sync.Mutex // held for one object: the ending watch, the next listing and the end of the source may overlap
	closed    bool
	evaluator *engine.Evaluator
	identity  *engine.Decoder // reads only the identity of a subject
}

// newDecoder returns a decoder, which owns the evaluator from then on.
func newDecoder(q retention.RuleSet, e *engine.Evaluator, a *allowance) *decoder {
	d := &decoder{kind: q.Kind, allowance: a, evaluator: e, identity: engine.NewDecoder()}
	d.ask(q)
	return d
}

// ask sets the rules for later objects. An evaluation in progress continues with the earlier rules.
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

// close releases the evaluator. Later reads return errClosed.
func (d *decoder) close() {
	d.one.Lock()
	defer d.one.Unlock()
	if !d.closed {
		d.closed = true
		d.evaluator.Close()
	}
}

var errClosed = errors.New("the source is closed")

// Object implements listwatch.Decoder.
func (d *decoder) Object(data []byte) (listwatch.Object, error) {
	o, err := d.object(data)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Deleted implements listwatch.Decoder. It returns the identity of the object, without facts.
func (d *decoder) Deleted(data []byte) (listwatch.Object, error) {
	d.one.Lock()
	defer d.one.Unlock()
	o, err := d.observed(data, d.identity, nil)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// object decodes and evaluates an object.
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

// observe evaluates the rules of asks on an object. If asks is nil, it evaluates none.
func (d *decoder) observe(object map[string]any, asks *asking) (*observation, error) {
	// The kind of a metadata-only response is PartialObjectMetadata; the rules read the kind of the object.
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
