package objects

import (
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/controllers/index"
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
	return o.row.Namespace
}

func (o *observation) GetName() string {
	if o.row == nil {
		return ""
	}
	return o.row.Name
}

func (o *observation) GetResourceVersion() string {
	if o.bookmark != nil {
		return o.bookmark.ResourceVersion
	}
	return o.row.ResourceVersion
}

func (o *observation) GetAnnotations() map[string]string {
	if o.bookmark == nil {
		return nil
	}
	return o.bookmark.Annotations
}

// decoder turns the JSON of an object into facts.
type decoder struct {
	kind  schema.GroupVersionKind
	rules []*engine.Rule

	mu        sync.Mutex // an ending watch and the next listing may overlap
	evaluator *engine.Evaluator
	json      *engine.Decoder
	identity  *engine.Decoder // reads what tells subjects apart
}

func newDecoder(kind schema.GroupVersionKind, rules []*engine.Rule, e *engine.Evaluator) *decoder {
	return &decoder{kind: kind, rules: rules, evaluator: e, json: engine.NewDecoder(rules...), identity: engine.NewDecoder()}
}

// event gives the object of an event. Of what was deleted there are no facts.
func (d *decoder) event(kind watch.EventType, data []byte) (runtime.Object, error) {
	if kind != watch.Deleted {
		return d.decode(data)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	object, err := d.identity.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode deleted %s: %w", d.kind.Kind, err)
	}
	return d.observe(object, nil)
}

// decode observes an object, or reads what a watch says instead: a bookmark or a Status.
func (d *decoder) decode(data []byte) (runtime.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	object, err := d.json.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	meta, _ := object["metadata"].(map[string]any)
	switch {
	case object["kind"] == "Status" && object["apiVersion"] == "v1":
		status := &metav1.Status{}
		return status, json.Unmarshal(data, status)
	case text(meta, "uid") == "":
		return bookmarkOf(data)
	}
	return d.observe(object, d.rules)
}

// observe gives what the rules say about an object.
func (d *decoder) observe(object map[string]any, rules []*engine.Rule) (*observation, error) {
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
	row := &index.Row{Subject: subject, Facts: make([]policy.Facts, len(rules))}
	for i, rule := range rules {
		row.Facts[i] = d.evaluator.Facts(rule, object)
	}
	return &observation{row: row}, nil
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
