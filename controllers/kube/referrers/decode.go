package referrers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unique"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
)

// item is what is left of an object: what it refers to.
type item struct {
	listwatch.Rest
	references.Referrer
	version string
}

// DeepCopyObject gives the item itself: it never changes.
func (i *item) DeepCopyObject() runtime.Object { return i }

func (i *item) GetNamespace() string       { return i.Name.Namespace }
func (i *item) GetName() string            { return i.Name.Name }
func (i *item) GetResourceVersion() string { return i.version }

// decoder turns the JSON of objects of one kind into what they refer to. It implements stream.Decoder.
type decoder struct {
	row   *extract.Row
	kind  schema.GroupVersionKind // as it is served
	heard func() (done func())    // is called for each object, and done when it has been read
	lose  func(error)             // is called for each that cannot be read

	mu        sync.Mutex // an ending watch, the next listing and the end of it all may overlap
	closed    bool
	evaluator *engine.Evaluator
	json      *engine.Decoder
	identity  *engine.Decoder
}

func newDecoder(ctx context.Context, c *engine.Compiler, r *extract.Row, kind schema.GroupVersionKind) *decoder {
	return &decoder{
		row: r, kind: kind, heard: func() func() { return func() {} }, lose: func(error) {},
		evaluator: c.NewEvaluator(ctx), json: r.NewDecoder(), identity: engine.NewReferrerDecoder(),
	}
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

// Object implements stream.Decoder.
func (d *decoder) Object(data []byte) (listwatch.Object, error) { return d.told(d.json, data, d.read) }

// Deleted implements stream.Decoder: it gives who it was.
func (d *decoder) Deleted(data []byte) (listwatch.Object, error) {
	return d.told(d.identity, data, func(object map[string]any) references.Referrer { return extract.Identify(d.row.Kind, object) })
}

// told reads an object. Of one that cannot be read nobody knows what it refers to, from now on and not only once the watch
// that told of it is over.
func (d *decoder) told(with *engine.Decoder, data []byte, read func(map[string]any) references.Referrer) (listwatch.Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	defer d.heard()()
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

var errClosed = errors.New("nobody reads any more")

func (d *decoder) decode(with *engine.Decoder, data []byte) (map[string]any, error) {
	object, err := with.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", d.kind.Kind, err)
	}
	// In lists objects do not say what they are, and a metadata-only answer says something else.
	object["apiVersion"], object["kind"] = d.kind.GroupVersion().String(), d.kind.Kind
	return object, nil
}

// attempts is how often an object is read that took too long: the machine may have been busy.
const attempts = 3

func (d *decoder) read(object map[string]any) (r references.Referrer) {
	for range attempts {
		if r = d.row.Read(d.evaluator, object); !errors.Is(r.Err, engine.ErrDeadline) {
			break
		}
	}
	return r
}

// item refuses an object that does not say who it is.
func (d *decoder) item(r references.Referrer, object map[string]any) (*item, error) {
	if r.UID == "" || r.Name.Name == "" {
		return nil, fmt.Errorf("%s %s/%s has no name and UID", d.kind.Kind, r.Name.Namespace, r.Name.Name)
	}
	// Many objects share a namespace, and names of what they refer to: they hold one text.
	r.Name.Namespace = unique.Make(r.Name.Namespace).Value()
	for i, t := range r.Targets {
		r.Targets[i].Namespace, r.Targets[i].Name = unique.Make(t.Namespace).Value(), unique.Make(t.Name).Value()
	}
	metadata, _ := object["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	return &item{Referrer: r, version: version}, nil
}
