package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// reevaluator is what it takes to ask rules about objects again when what refers to them changes: of each object the fields that
// the rules read. It hands the answers to the sink, one after the other, so that none is overtaken by an older one. It
// implements cache.ReflectorStore.
type reevaluator struct {
	kind      schema.GroupVersionKind
	clock     clock.Clock
	changes   *changes
	allowance *allowance
	waiting   waiting

	mu        lockorder.Mutex[lockorder.Reevaluator] // held while the sink is told
	sink      retention.Sink                         // nil while nobody listens
	endWatch  func()                                 // ends the watch, so that everything is listed again; nil for none
	evaluator *engine.Evaluator
	objects   map[types.NamespacedName]remembered
}

// begin tells a sink from now on, and of what changes until the func it gives is called.
func (m *reevaluator) begin(ctx context.Context, sink retention.Sink, c *engine.Compiler) (end func()) {
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
func (m *reevaluator) follow(ctx context.Context) {
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
func (m *reevaluator) askAll(ctx context.Context) {
	for names := range slices.Chunk(m.names(), askedAtOnce) {
		if ctx.Err() != nil {
			return
		}
		m.askAgain(names)
		m.changes.spread()
		m.askAgain(m.waiting.some())
	}
}

func (m *reevaluator) names() []types.NamespacedName {
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

// askedAtOnce is after how many of all objects those that have changed come first.
const askedAtOnce = 100

// askAgain asks about objects that are known, with what refers to them now. Others wait to tell the sink for one of them.
func (m *reevaluator) askAgain(names []types.NamespacedName) {
	for _, name := range names {
		m.askOne(name)
	}
}

func (m *reevaluator) askOne(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.objects[name]
	if known.asks == nil || m.sink == nil {
		return
	}
	if row, _, err := m.ask(&known); err != nil {
		m.lose(err)
	} else {
		m.sink.Apply(row)
	}
}

// watching says how to end the watch that is about to begin.
func (m *reevaluator) watching(end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endWatch = end
}

// lose is called when something that was kept cannot be read, which must not be: nothing is deleted until everything is listed
// again, which begins soon.
func (m *reevaluator) lose(err error) {
	m.sink.Lost(&retention.SourceError{Reason: "ListFailed", Message: fmt.Sprintf("an object cannot be reevaluated: %v", err)})
	if m.endWatch != nil {
		m.endWatch()
	}
}

// ask asks the rules about what was kept of an object. It also reports whether their answers may change though the object
// does not.
func (m *reevaluator) ask(kept *remembered) (row *index.FactRow, mayChange bool, err error) {
	subject, object, err := kept.asks.read(kept.text)
	if err != nil {
		return nil, false, err
	}
	asked := kept.asks.About(subject.Namespace)
	m.evaluator.SetReferences(m.referencesTo(subject))
	facts, again := m.allowance.ask(m.evaluator, kept.asks.RuleSet, subject.Namespace, object)
	for i, rule := range asked.Rules {
		mayChange = mayChange || facts[i].Selected && rule.ReadsReferences()
	}
	return index.NewFactRow(subject, asked.Layout, facts...).AskAgain(again), mayChange, nil
}

// referencesTo is what refers to an object now.
func (m *reevaluator) referencesTo(s policy.Subject) *engine.References {
	target := references.Target{Kind: references.Kind(m.kind.Kind), Namespace: s.Namespace, Name: s.Name}
	uses := m.changes.index.Of(target)
	return &engine.References{Count: uses.Count, Doubt: uses.Doubt, Since: uses.Since, By: func() []engine.Referrer {
		names := m.changes.index.By(target)
		by := make([]engine.Referrer, len(names))
		for i, name := range names {
			by[i] = engine.Referrer(name)
		}
		return by
	}}
}
