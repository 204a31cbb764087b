package kube

import (
	"runtime/debug"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// answer asks the rules about an object that was just read, and gives what to keep of it.
func (m *reevaluator) answer(o *observation) (*index.FactRow, remembered, error) {
	if o.kept == nil {
		return o.row, remembered{version: o.row.Subject().ResourceVersion}, nil
	}
	row, mayChange, err := m.ask(o.kept)
	if err != nil || mayChange {
		return row, *o.kept, err
	}
	return row, remembered{version: o.kept.version}, nil
}

// order compares an object that was just read with the version of it that is known; one that is not known is older than
// nothing. It orders as the index does, which knows the same.
func (m *reevaluator) order(o *observation) int {
	known, ok := m.objects[nameOf(o.row)]
	if !ok {
		return -1
	}
	order, err := resourceversion.CompareResourceVersion(o.row.Subject().ResourceVersion, known.version)
	if err != nil {
		return -1
	}
	return order
}

func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

func nameOf(row *index.FactRow) types.NamespacedName {
	s := row.Subject()
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// Add implements cache.ReflectorStore.
func (m *reevaluator) Add(obj any) error {
	o := obj.(*observation)
	m.mu.Lock()
	defer m.mu.Unlock()
	row, kept, err := m.answer(o)
	if err != nil {
		m.lose(err)
		return err
	}
	m.objects[nameOf(o.row)] = kept
	m.sink.Apply(row)
	return nil
}

// Update implements cache.ReflectorStore.
func (m *reevaluator) Update(obj any) error { return m.Add(obj) }

// Delete implements cache.ReflectorStore. Another object may have the name by now, which a list has shown.
func (m *reevaluator) Delete(obj any) error {
	o := obj.(*observation)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !isNewer(m.objects[nameOf(o.row)].version, o.row.Subject().ResourceVersion) {
		delete(m.objects, nameOf(o.row))
	}
	m.sink.Forget(o.row.Subject().UID)
	return nil
}

// Replace implements cache.ReflectorStore.
func (m *reevaluator) Replace(list []any, _ string) error {
	err := m.replace(subjectsOf(list))
	if len(list) >= manyRows {
		debug.FreeOSMemory()
	}
	return err
}

func (m *reevaluator) replace(list []*observation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, kept, err := m.answers(list)
	if err != nil {
		m.lose(err)
		return err
	}
	m.objects = kept
	m.sink.Replace(rows)
	return nil
}

// answers asks the rules about objects that were just read.
func (m *reevaluator) answers(list []*observation) ([]*index.FactRow, map[types.NamespacedName]remembered, error) {
	rows, all := make([]*index.FactRow, 0, len(list)), make(map[types.NamespacedName]remembered, len(list))
	for _, o := range list {
		row, kept, err := m.answer(o)
		if err != nil {
			return nil, nil, err
		}
		rows, all[nameOf(o.row)] = append(rows, row), kept
	}
	return rows, all, nil
}

// Resync implements cache.ReflectorStore.
func (m *reevaluator) Resync() error { return nil }

// reread takes in an object that was read past the watch: it is handed to take, and kept if the watch has not brought as much.
func (m *reevaluator) reread(o *observation, take func(*index.FactRow)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sink == nil {
		return errClosed
	}
	row, kept, err := m.answer(o)
	if err != nil {
		return err
	}
	if m.order(o) > 0 {
		m.objects[nameOf(o.row)] = kept
	}
	take(row)
	return nil
}

// miss forgets an object that is there no more, read past the watch: else it would be told of again, which nobody would take
// back. Another one of its name stays.
func (m *reevaluator) miss(s policy.Subject, take func(*index.FactRow)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if known := m.objects[name]; known.asks != nil {
		if is, _, err := known.asks.read(known.text); err == nil && is.UID == s.UID {
			delete(m.objects, name)
		}
	}
	take(nil)
}

// relist takes in the objects of a namespace that was listed past the watch, if take does, but for those of which the watch
// has brought more.
func (m *reevaluator) relist(list []*observation, take func([]*index.FactRow) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sink == nil {
		return errClosed
	}
	rows, kept, err := m.answers(list)
	if err != nil || !take(rows) {
		return err
	}
	for _, o := range list {
		if m.order(o) >= 0 {
			m.objects[nameOf(o.row)] = kept[nameOf(o.row)]
		}
	}
	return nil
}

var _ cache.ReflectorStore = (*reevaluator)(nil)
