package referrers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/references"
	"github.com/sunset-k8s/sunset/engine"
)

// Reader reads objects of a kind as a watch does that rules about some kinds need.
func Reader(ctx context.Context, c *engine.Compiler, t *Table, kind schema.GroupVersionKind, to ...references.Kind) func(data []byte) (references.Referrer, error) {
	var asked *row
	for _, r := range t.about(to) {
		if r.kind == kind {
			asked = r
		}
	}
	d := newDecoder(ctx, c, asked, kind)
	return func(data []byte) (references.Referrer, error) {
		o, err := d.Object(data)
		if err != nil {
			return references.Referrer{}, err
		}
		return o.(*item).Referrer, nil
	}
}

// Late tells a Watcher that an object of a kind took too long to be read.
func Late(w *Watcher, kind schema.GroupVersionKind) {
	for _, s := range w.all() {
		if s.row.kind == kind {
			s.put(&references.Referrer{UID: "late", Err: engine.ErrDeadline})
		}
	}
}

// Troubles lists the states of kinds that are not known completely.
func (w *Watcher) Troubles() []State {
	return slices.DeleteFunc(w.States(), func(s State) bool { return s.Phase != Unknown })
}
