// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
)

// item is what is kept of an object: its identity and its references.
type item struct {
	references.Referrer
	version string
}

// DeepCopyObject returns the item itself, which never changes.
func (i *item) DeepCopyObject() runtime.Object { return i }

// GetObjectKind implements runtime.Object.
func (i *item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// GetObjectMeta implements listwatch.Object.
func (i *item) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: i.Name.Namespace, Name: i.Name.Name, ResourceVersion: i.version}
}

// decoder reads the references in the JSON of objects of one kind. It implements listwatch.Decoder.
type decoder struct {
	row         *extract.Row
	kind        schema.GroupVersionKind // as it is served
	noteArrival func() (done func())    // is called for each object, and done when the object has been read
	lose        func(error)             // is called for each object that cannot be read

	mu        sync.Mutex // the ending watch, the next listing and the end of the source may overlap
	closed    bool
	evaluator *engine.Evaluator
	json      *engine.Decoder
	identity  *engine.Decoder
}

func newDecoder(ctx context.Context, c *engine.Compiler, r *extract.Row, kind schema.GroupVersionKind) *decoder {
	return &decoder{
		row: r, kind: kind, noteArrival: func() func() { return func() {} }, lose: func(error) {},
		evaluator: c.NewEvaluator(ctx), json: r.NewDecoder(), identity: engine.NewReferrerDecoder(),
	}
}

// close releases the evaluator. Later reads return errClosed.
func (d *decoder) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		d.evaluator.Close()
	}
}

// Object implements listwatch.Decoder.
func (d *decoder) Object(data []byte) (listwatch.Object, error) { return d.told(d.json, data, d.read) }

// Deleted implements listwatch.Decoder. It returns the identity of the object.
func (d *decoder) Deleted(data []byte) (listwatch.Object, error) {
	return d.told(d.identity, data, func(object map[string]any) references.Referrer { return extract.Identify(d.row.Kind, object) })
}

// told reads an object. If the object cannot be read, its references are unknown at once, and not only after the watch has ended.
func (d *decoder) told(with *engine.Decoder, data []byte, read func(map[string]any) references.Referrer) (listwatch.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	defer d.noteArrival()()
	object, err := d.decode(with, data)
	if err == nil {
		var i *item
		if i, err = d.item(read(object), object); err == nil {
			return i, nil
		}
	}
	d.lose(err)
	return nil, err
}

var errClosed = errors.New("the source is closed")

func (d *decoder) decode(with *engine.Decoder, data []byte) (map[string]any, error) {
	object, err := with.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	// Objects in lists have no apiVersion and kind, and objects in metadata-only responses have others.
	object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	return object, nil
}

// attempts limits how often an object is read if reading takes too long: the machine may have been busy.
const attempts = 3

func (d *decoder) read(object map[string]any) (r references.Referrer) {
	for range attempts {
		if r = d.row.Read(d.evaluator, object); !errors.Is(r.Err, engine.ErrDeadline) {
			break
		}
	}
	return r
}

// item returns an error if the object has no name or no UID.
func (d *decoder) item(r references.Referrer, object map[string]any) (*item, error) {
	if r.UID == "" || r.Name.Name == "" {
		return nil, fmt.Errorf("%s %s/%s has no name or no UID", d.kind.Kind, r.Name.Namespace, r.Name.Name)
	}
	// Many objects share namespaces and names of targets. To save memory, equal strings are stored once.
	r.Name.Namespace = unique.Make(r.Name.Namespace).Value()
	for i, t := range r.Targets {
		r.Targets[i].Namespace, r.Targets[i].Name = unique.Make(t.Namespace).Value(), unique.Make(t.Name).Value()
	}
	if r.Object != nil {
		for i, l := range r.Object.Labels {
			r.Object.Labels[i].Text = unique.Make(l.Text).Value()
		}
	}
	return &item{Referrer: r, version: (&unstructured.Unstructured{Object: object}).GetResourceVersion()}, nil
}
