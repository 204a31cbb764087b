// SPDX-License-Identifier: Apache-2.0

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

// Reader returns a func that reads objects of a kind of a Table like the watch.
func Reader(ctx context.Context, c *engine.Compiler, t *extract.Table, kind schema.GroupVersionKind) func(data []byte) (references.Referrer, error) {
	d := newDecoder(ctx, c, t.Row(kind), kind)
	return func(data []byte) (references.Referrer, error) {
		o, err := d.Object(data)
		if err != nil {
			return references.Referrer{}, err
		}
		return o.(*item).Referrer, nil
	}
}

// Late makes a Watcher handle an object of a kind that took too long to read.
func Late(w *Watcher, kind schema.GroupVersionKind) {
	for _, s := range w.all() {
		if s.row.Kind == kind {
			s.put(&references.Referrer{UID: "late", Err: engine.ErrDeadline})
		}
	}
}

// Asked returns the kinds that rules have asked about, and that the Watcher remembers.
func (w *Watcher) Asked() []references.Kind {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked.Kinds()
}

// Errors returns the states of kinds that are not completely known.
func (w *Watcher) Errors() []State {
	return slices.DeleteFunc(w.States(), func(s State) bool { return s.Phase != Unknown })
}

// WatchLiveness is an open watch that reports whether it is live.
type WatchLiveness struct{ watchLiveness }

// OpenWatchLiveness opens a watch.
func OpenWatchLiveness(clock clock.PassiveClock, tell func(live bool)) *WatchLiveness {
	c := &WatchLiveness{watchLiveness{clock: clock, report: tell}}
	c.opened(false)
	return c
}

// Read reads an object that has arrived, which takes as long as during.
func (c *WatchLiveness) Read(during func()) {
	done := c.noteArrival()
	during()
	done()
}

// Settle is called regularly.
func (c *WatchLiveness) Settle() { c.settle() }
