// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"runtime/debug"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/policy"
)

// evaluateRead evaluates an object that was just read, and returns what to remember of it.
func (m *reevaluator) evaluateRead(o *observation) (*index.FactRow, keptObject, error) {
	if o.kept == nil {
		return o.row, keptObject{version: o.row.Subject().ResourceVersion}, nil
	}
	row, mayChange, err := m.evaluate(o.kept)
	if err != nil || mayChange {
		return row, *o.kept, err
	}
	return row, keptObject{version: o.kept.version}, nil
}

// order compares an object that was just read with its known version. It returns -1 if no version is known, or if the versions
// cannot be compared. The index knows the same versions and orders them in the same way.
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
	if o.row == nil { // a mirror Pod
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outdate(nameOf(o.row))
	row, kept, err := m.evaluateRead(o)
	if err != nil {
		m.reportLost(err)
		return err
	}
	m.objects[nameOf(o.row)] = kept
	m.sink.Apply(row)
	return nil
}

// Update implements cache.ReflectorStore.
func (m *reevaluator) Update(obj any) error { return m.Add(obj) }

// Delete implements cache.ReflectorStore. A list may already have shown a newer object of the same name, which Delete keeps.
func (m *reevaluator) Delete(obj any) error {
	o := obj.(*observation)
	if o.row == nil {
		return nil
	}
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
	rows, kept, err := m.evaluateList(list)
	if err != nil {
		m.reportLost(err)
		return err
	}
	m.objects = kept
	m.sink.Replace(rows)
	return nil
}

// listEvaluation is the evaluation of a list. In the middle of it, objects of the list can be evaluated for other reasons: because their
// references or they themselves have changed. The results of the list for them may be outdated then.
type listEvaluation struct {
	outdated    sets.Set[types.NamespacedName]
	allOutdated bool
}

// takeOutdated returns the positions of the outdated objects of the list, and forgets them.
func (l *listEvaluation) takeOutdated(list []*observation) (outdated []int) {
	for i, o := range list {
		if l.allOutdated || l.outdated.Has(nameOf(o.row)) {
			outdated = append(outdated, i)
		}
	}
	l.allOutdated, l.outdated = false, sets.New[types.NamespacedName]()
	return outdated
}

// outdate notes that an object is evaluated for another reason than a list.
func (m *reevaluator) outdate(name types.NamespacedName) {
	for l := range m.evaluating {
		if !l.allOutdated {
			l.outdated.Insert(name)
		}
	}
}

// A list is evaluated in at most evaluateRounds rounds, until no more than evaluateLast objects are outdated.
const (
	evaluateRounds = 3
	evaluateLast   = 4
)

// evaluateList evaluates objects that were just read. The caller holds mu. evaluateList releases it after each object, so that others wait
// for about one evaluation, except for the last ones.
func (m *reevaluator) evaluateList(list []*observation) ([]*index.FactRow, map[types.NamespacedName]keptObject, error) {
	l := &listEvaluation{allOutdated: true}
	m.evaluating.Insert(l)
	defer m.evaluating.Delete(l)
	rows, all := make([]*index.FactRow, len(list)), make(map[types.NamespacedName]keptObject, len(list))
	for round := range evaluateRounds + 1 {
		outdated := l.takeOutdated(list)
		isLast := round == evaluateRounds || len(outdated) <= evaluateLast
		for _, i := range outdated {
			row, kept, err := m.evaluateRead(list[i])
			if err != nil {
				return nil, nil, err
			}
			rows[i], all[nameOf(list[i].row)] = row, kept
			if isLast {
				continue
			}
			m.mu.Unlock()
			m.mu.Lock()
			if m.sink == nil {
				return nil, nil, errClosed
			}
		}
		if isLast {
			break
		}
	}
	return rows, all, nil
}

// Resync implements cache.ReflectorStore.
func (m *reevaluator) Resync() error { return nil }

// reread handles an object that was read outside of the watch. It passes the row to take, and remembers the object if the
// watch has brought an older version.
func (m *reevaluator) reread(o *observation, take func(*index.FactRow)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sink == nil {
		return errClosed
	}
	m.outdate(nameOf(o.row))
	row, kept, err := m.evaluateRead(o)
	if err != nil {
		return err
	}
	if m.order(o) > 0 {
		m.objects[nameOf(o.row)] = kept
	}
	take(row)
	return nil
}

// forgetMissing forgets an object that no longer exists according to a read outside of the watch. Otherwise a change of references would
// pass it to the sink again, and no event would remove it. Another object of the same name stays.
func (m *reevaluator) forgetMissing(s policy.Subject, take func(*index.FactRow)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	if known := m.objects[name]; known.rules != nil {
		if is, _, err := known.rules.read(known.text); err == nil && is.UID == s.UID {
			delete(m.objects, name)
		}
	}
	take(nil)
}

// relist handles the objects of a namespace that was listed outside of the watch. If take accepts the rows, relist remembers the
// objects of which the watch has brought the same or an older version.
func (m *reevaluator) relist(list []*observation, take func([]*index.FactRow) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sink == nil {
		return errClosed
	}
	rows, kept, err := m.evaluateList(list)
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
