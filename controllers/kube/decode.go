// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	kept    *keptObject // nil if the row has the facts
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
	kind   schema.GroupVersionKind
	budget *evaluationBudget

	keeps bool                                          // keep what the rules read, and evaluate them later
	knows func(s policy.Subject, l *index.Columns) bool // whether a subject needs no evaluation; nil if all need one

	mu    sync.Mutex // not held during an evaluation, so that setRules does not wait for one
	rules *decoderRules

	one       sync.Mutex // held for one object: the ending watch, the next listing and the end of the source may overlap
	closed    bool
	evaluator *engine.Evaluator
	identity  *engine.Decoder // reads only the identity of a subject
}

// decoderRules is the rules for objects of all namespaces.
type decoderRules struct {
	retention.RuleSet
	json func() *engine.Decoder
	kept map[string]*keptRules // by namespace, "" for those without rules of their own; only some
}

// newDecoder returns a decoder, which owns the evaluator from then on.
func newDecoder(q retention.RuleSet, e *engine.Evaluator, a *evaluationBudget) *decoder {
	d := &decoder{kind: q.Kind, budget: a, evaluator: e, identity: engine.NewDecoder()}
	d.setRules(q)
	return d
}

// setRules sets the rules for later objects. An evaluation in progress continues with the earlier rules.
func (d *decoder) setRules(q retention.RuleSet) {
	rules := &decoderRules{q, decoderOf(q), map[string]*keptRules{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rules != nil {
		maps.Copy(rules.kept, d.rules.kept)
		maps.DeleteFunc(rules.kept, func(namespace string, a *keptRules) bool { return !a.isFor(q, namespace) })
	}
	d.rules = rules
}

func (d *decoder) currentRules() *decoderRules {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rules
}

// keptRules returns the part of rules that objects of a namespace keep.
func (d *decoder) keptRules(rules *decoderRules, namespace string) *keptRules {
	if _, own := rules.In[namespace]; !own {
		namespace = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a := rules.kept[namespace]
	if a == nil {
		a = newKeptRules(rules.OnlyIn(namespace))
		rules.kept[namespace] = a
	}
	return a
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
	rules := d.currentRules()
	return d.observed(data, rules.json(), rules)
}

var noColumns = index.NewColumns()

func (d *decoder) observed(data []byte, with *engine.Decoder, rules *decoderRules) (*observation, error) {
	if d.closed {
		return nil, errClosed
	}
	object, err := with.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	return d.observe(object, rules)
}

// observe evaluates rules on an object. If they are nil, it evaluates none.
func (d *decoder) observe(object map[string]any, rules *decoderRules) (*observation, error) {
	// The kind of a metadata-only response is PartialObjectMetadata; the rules read the kind of the object.
	object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	if engine.IsMirror(object) {
		version := (&unstructured.Unstructured{Object: object}).GetResourceVersion()
		return &observation{version: &version}, nil
	}
	subject, err := engine.SubjectOf(object)
	if err != nil {
		return nil, err
	}
	if subject.UID == "" {
		return nil, fmt.Errorf("%s %s/%s has no UID", d.kind.Kind, subject.Namespace, subject.Name)
	}
	if rules == nil {
		return &observation{row: index.NewFactRow(subject, noColumns)}, nil
	}
	asked := rules.About(subject.Namespace)
	if d.knows != nil && d.knows(subject, asked.Layout) {
		return &observation{version: &subject.ResourceVersion}, nil
	}
	if d.keeps && len(asked.Rules) > 0 {
		kept, err := d.keptRules(rules, subject.Namespace).keep(subject.ResourceVersion, object)
		return &observation{row: index.NewFactRow(subject, noColumns), kept: kept}, err
	}
	row, _ := d.budget.evaluate(d.evaluator, rules.RuleSet, subject, object)
	return &observation{row: row}, nil
}
