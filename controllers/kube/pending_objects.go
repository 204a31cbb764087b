// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// changes passes changes of references to all reevaluators. The index reports a change once, but several reevaluators may need
// it: the next listing of a kind runs beside the last.
type changes struct {
	index *references.Index

	mu        sync.Mutex
	followers sets.Set[*reevaluator]
}

func newChanges(x *references.Index) *changes {
	return &changes{index: x, followers: sets.Set[*reevaluator]{}}
}

func (c *changes) join(m *reevaluator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followers.Insert(m)
}

func (c *changes) leave(m *reevaluator) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.followers, m)
}

// distribute passes the latest changes to all followers.
func (c *changes) distribute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.index.Take()
	if len(changed.Targets) == 0 && len(changed.Whole) == 0 {
		return
	}
	for m := range c.followers {
		m.pending.add(m.of, changed)
	}
}

// pendingObjects is the objects to evaluate again.
type pendingObjects struct {
	wake wake.Signal // has an element while objects wait

	mu    sync.Mutex
	names sets.Set[types.NamespacedName]
	all   bool
}

func newPendingObjects() pendingObjects {
	return pendingObjects{names: sets.Set[types.NamespacedName]{}}
}

// pendingAtMost limits how many objects wait by name. If there are more, all objects wait.
const pendingAtMost = 10_000

// add adds the changed objects of a kind.
func (w *pendingObjects) add(of references.Kind, c references.Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range c.Targets {
		if t.Kind == of {
			w.names.Insert(types.NamespacedName{Namespace: t.Namespace, Name: t.Name})
		}
	}
	w.all = w.all || slices.Contains(c.Whole, of)
	if len(w.names) > pendingAtMost {
		w.all = true
		clear(w.names)
	}
	if w.all || len(w.names) > 0 {
		w.wake.Send()
	}
}

// takeNames takes the objects that wait by name.
func (w *pendingObjects) takeNames() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.names.UnsortedList()
	clear(w.names)
	return names
}

// takeAll reports whether all objects wait, and resets that.
func (w *pendingObjects) takeAll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = false
	return all
}
