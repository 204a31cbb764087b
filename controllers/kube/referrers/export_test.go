package referrers

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/engine"
)

// Reader reads objects of a kind as a watch does that rules about some kinds need.
func Reader(ctx context.Context, c *engine.Compiler, t *extract.Table, kind schema.GroupVersionKind, to ...references.Kind) func(data []byte) (references.Referrer, error) {
	var asked *extract.Row
	for _, r := range t.Rows(to) {
		if r.Kind == kind {
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
		if s.row.Kind == kind {
			s.put(&references.Referrer{UID: "late", Err: engine.ErrDeadline})
		}
	}
}

// Troubles lists the states of kinds that are not known completely.
func (w *Watcher) Troubles() []State {
	return slices.DeleteFunc(w.States(), func(s State) bool { return s.Phase != Unknown })
}

// Contact is a watch that is open, and what is told of it.
type Contact struct{ contact }

// OpenContact opens a watch.
func OpenContact(clock clock.PassiveClock, tell func(live bool)) *Contact {
	c := &Contact{contact{clock: clock, tell: tell}}
	c.opened(false)
	return c
}

// Read reads an object that has come, which takes as long as during.
func (c *Contact) Read(during func()) {
	done := c.hear()
	during()
	done()
}

// Settle is called now and then.
func (c *Contact) Settle() { c.settle() }
