package objects

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// observation is what is left of a decoded object: its row, or for a bookmark only where the watch stands.
type observation struct {
	metav1.Object // nil; only the methods below are called
	row           *index.Row
	bookmark      *metav1.ObjectMeta
}

func (o *observation) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

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
	if o.bookmark != nil {
		return o.bookmark.ResourceVersion
	}
	return o.row.Subject().ResourceVersion
}

func (o *observation) GetAnnotations() map[string]string {
	if o.bookmark == nil {
		return nil
	}
	return o.bookmark.Annotations
}

// decoder turns the JSON of an object into facts.
type decoder struct {
	kind schema.GroupVersionKind

	mu        sync.Mutex // an ending watch, the next listing, other questions and the end of the source may overlap
	closed    bool
	asks      retention.Questions
	evaluator *engine.Evaluator
	json      *engine.Decoder
	identity  *engine.Decoder // reads what tells subjects apart
}

// newDecoder makes a decoder, which owns the evaluator from now on.
func newDecoder(q retention.Questions, e *engine.Evaluator) *decoder {
	return &decoder{kind: q.Kind, asks: q, evaluator: e, json: engine.NewDecoder(q.Rules()...), identity: engine.NewDecoder()}
}

// ask changes what is asked of objects from now on.
func (d *decoder) ask(q retention.Questions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asks, d.json = q, engine.NewDecoder(q.Rules()...)
}

// close gives the evaluator back. Whoever is still reading gets an error.
func (d *decoder) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		d.evaluator.Close()
	}
}

var errClosed = errors.New("the source has ended")

// object observes an object.
func (d *decoder) object(data []byte) (*observation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.observed(data, d.json, d.asks.About)
}

// deleted observes an object that is gone: who it was, without facts.
func (d *decoder) deleted(data []byte) (*observation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.observed(data, d.identity, func(string) retention.Asked { return nothingAsked })
}

var nothingAsked = retention.Asked{Layout: &index.Layout{}}

func (d *decoder) observed(data []byte, with *engine.Decoder, about func(namespace string) retention.Asked) (*observation, error) {
	if d.closed {
		return nil, errClosed
	}
	object, err := with.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	return d.observe(object, about)
}

// event gives what an event of a watch is about: an observation, or a Status for an error.
func (d *decoder) event(of watch.EventType, data []byte) (runtime.Object, error) {
	switch of {
	case watch.Added, watch.Modified:
		return d.object(data)
	case watch.Deleted:
		return d.deleted(data)
	case watch.Bookmark:
		return bookmarkOf(data)
	case watch.Error:
		status := &metav1.Status{}
		return status, json.Unmarshal(data, status)
	}
	return nil, fmt.Errorf("an event of unknown type %q", of)
}

// observe gives what the rules say about an object.
func (d *decoder) observe(object map[string]any, about func(namespace string) retention.Asked) (*observation, error) {
	// A metadata-only answer calls itself PartialObjectMetadata; the rules know the object by its kind.
	object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	if engine.IsMirror(object) {
		meta, _ := object["metadata"].(map[string]any)
		return &observation{bookmark: &metav1.ObjectMeta{ResourceVersion: text(meta, "resourceVersion")}}, nil
	}
	subject, err := engine.SubjectOf(object)
	if err != nil {
		return nil, err
	}
	if subject.UID == "" {
		return nil, fmt.Errorf("%s %s/%s has no UID", d.kind.Kind, subject.Namespace, subject.Name)
	}
	asked := about(subject.Namespace)
	facts := make([]policy.Facts, len(asked.Rules))
	for i, rule := range asked.Rules {
		facts[i] = d.evaluator.Facts(rule, object)
	}
	return &observation{row: index.NewRow(subject, asked.Layout, facts...)}, nil
}

// bookmarkOf reads what a watch needs of an event without an object.
func bookmarkOf(data []byte) (*observation, error) {
	o := &metav1.PartialObjectMetadata{}
	err := json.Unmarshal(data, o)
	return &observation{bookmark: &o.ObjectMeta}, err
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// observations is a page whose items are observed. It implements runtime.Object and meta.List's expectations.
type observations struct {
	metav1.ListMeta
	Items []runtime.Object
}

func (o *observations) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject gives the list itself: it never changes.
func (o *observations) DeepCopyObject() runtime.Object { return o }
