package objects

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/index"
	"github.com/sunset-k8s/sunset/controllers/references"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// memory is what it takes to ask rules about objects again when what refers to them changes: of each object the fields that
// the rules read. It hands the answers to the sink, one after the other, so that none is overtaken by an older one. It
// implements cache.ReflectorStore.
type memory struct {
	kind    schema.GroupVersionKind
	clock   clock.Clock
	changes *changes
	waiting waiting

	mu        sync.Mutex     // held while the sink is told
	sink      retention.Sink // nil while nobody listens
	evaluator *engine.Evaluator
	objects   map[types.NamespacedName]remembered
}

// begin tells a sink from now on, and of what changes until the func it gives is called.
func (m *memory) begin(ctx context.Context, sink retention.Sink, c *engine.Compiler) (end func()) {
	m.mu.Lock()
	m.sink, m.evaluator, m.objects = sink, c.NewEvaluator(ctx), map[types.NamespacedName]remembered{}
	m.mu.Unlock()
	m.changes.join(m)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.follow(ctx)
	}()
	return func() {
		cancel()
		<-ended
		m.changes.leave(m)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.evaluator.Close()
		m.sink, m.objects = nil, nil
	}
}

// restFactor is how much longer than it took to ask about everything nobody does so again.
const restFactor = 10

// follow asks again about whatever refers to changes, until ctx ends.
func (m *memory) follow(ctx context.Context) {
	var rest <-chan time.Time // nil when everything may be asked about
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.changes.index.Changed():
			m.changes.spread()
		case <-m.waiting.wake:
		case <-rest:
			rest = nil
		}
		m.askAgain(m.waiting.some())
		if rest == nil && m.waiting.everything() {
			began := m.clock.Now()
			m.askAll(ctx)
			rest = m.clock.After(restFactor * m.clock.Since(began))
		}
	}
}

// askAll asks about everything, and meanwhile about what changes first.
func (m *memory) askAll(ctx context.Context) {
	for names := range slices.Chunk(m.names(), askedAtOnce) {
		if ctx.Err() != nil {
			return
		}
		m.askAgain(names)
		m.changes.spread()
		m.askAgain(m.waiting.some())
	}
}

func (m *memory) names() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]types.NamespacedName, 0, len(m.objects))
	for name, known := range m.objects {
		if known.asks != nil {
			names = append(names, name)
		}
	}
	return names
}

// askedAtOnce bounds for how long others wait to tell the sink.
const askedAtOnce = 100

// askAgain asks about objects that are known, with what refers to them now.
func (m *memory) askAgain(names []types.NamespacedName) {
	for some := range slices.Chunk(names, askedAtOnce) {
		m.askSome(some)
	}
}

func (m *memory) askSome(names []types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range names {
		known := m.objects[name]
		if known.asks == nil || m.sink == nil {
			continue
		}
		if row, _, err := m.ask(&known); err != nil {
			m.sink.Lost(unreadable(err))
		} else {
			m.sink.Apply(row)
		}
	}
}

// unreadable is told when something that was kept cannot be read, which must not be: nothing goes until all is listed anew.
func unreadable(err error) *retention.Trouble {
	return &retention.Trouble{Reason: "ListFailed", Message: fmt.Sprintf("an object cannot be asked about again: %v", err)}
}

// ask asks the rules about what was kept of an object. It also reports whether their answers may change though the object
// does not.
func (m *memory) ask(kept *remembered) (row *index.Row, mayChange bool, err error) {
	subject, object, err := kept.asks.read(kept.text)
	if err != nil {
		return nil, false, err
	}
	asked := kept.asks.About(subject.Namespace)
	m.evaluator.SetReferences(m.referencesTo(subject))
	facts := factsOf(m.evaluator, asked.Rules, object)
	for i, rule := range asked.Rules {
		mayChange = mayChange || facts[i].Selected && rule.ReadsReferences()
	}
	return index.NewRow(subject, asked.Layout, facts...), mayChange, nil
}

// referencesTo is what refers to an object now.
func (m *memory) referencesTo(s policy.Subject) *engine.References {
	target := references.Target{Kind: references.Kind(m.kind.Kind), Namespace: s.Namespace, Name: s.Name}
	uses := m.changes.index.Of(target)
	return &engine.References{Count: uses.Count, Doubt: uses.Doubt, By: func() []engine.Referrer {
		names := m.changes.index.By(target)
		by := make([]engine.Referrer, len(names))
		for i, name := range names {
			by[i] = engine.Referrer(name)
		}
		return by
	}}
}

// answer asks the rules about an object that was just read, and gives what to keep of it.
func (m *memory) answer(o *observation) (*index.Row, remembered, error) {
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
func (m *memory) order(o *observation) int {
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

func nameOf(row *index.Row) types.NamespacedName {
	s := row.Subject()
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// Add implements cache.ReflectorStore.
func (m *memory) Add(obj any) error {
	o := obj.(*observation)
	m.mu.Lock()
	defer m.mu.Unlock()
	row, kept, err := m.answer(o)
	if err != nil {
		m.sink.Lost(unreadable(err))
		return err
	}
	m.objects[nameOf(o.row)] = kept
	m.sink.Apply(row)
	return nil
}

// Update implements cache.ReflectorStore.
func (m *memory) Update(obj any) error { return m.Add(obj) }

// Delete implements cache.ReflectorStore. Another object may have the name by now, which a list has shown.
func (m *memory) Delete(obj any) error {
	o := obj.(*observation)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.objects[nameOf(o.row)]; known && m.order(o) >= 0 {
		delete(m.objects, nameOf(o.row))
	}
	m.sink.Forget(o.row.Subject().UID)
	return nil
}

// Replace implements cache.ReflectorStore.
func (m *memory) Replace(list []any, _ string) error {
	err := m.replace(subjectsOf(list))
	if len(list) >= manyRows {
		debug.FreeOSMemory()
	}
	return err
}

func (m *memory) replace(list []*observation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, kept, err := m.answers(list)
	if err != nil {
		m.sink.Lost(unreadable(err))
		return err
	}
	m.objects = kept
	m.sink.Replace(rows)
	return nil
}

// answers asks the rules about objects that were just read.
func (m *memory) answers(list []*observation) ([]*index.Row, map[types.NamespacedName]remembered, error) {
	rows, all := make([]*index.Row, 0, len(list)), make(map[types.NamespacedName]remembered, len(list))
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
func (m *memory) Resync() error { return nil }

// reread takes in an object that was read past the watch: it is handed to take, and kept if the watch has not brought as much.
func (m *memory) reread(o *observation, take func(*index.Row)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
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

// relist takes in the objects of a namespace that was listed past the watch, if take does, but for those of which the watch
// has brought more.
func (m *memory) relist(list []*observation, take func([]*index.Row) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
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

var _ cache.ReflectorStore = (*memory)(nil)
