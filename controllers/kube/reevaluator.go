// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/references/extract"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// reevaluator evaluates rules on an object again when references to the object change. It keeps the fields of each object that the
// rules read. It passes results to the sink one at a time, so that an older result never replaces a newer one. It implements
// cache.ReflectorStore.
type reevaluator struct {
	kind    schema.GroupVersionKind
	of      references.Kind
	clock   clock.Clock
	changes *changes
	budget  *evaluationBudget
	pending pendingObjects

	mu         lockorder.Mutex[lockorder.Reevaluator] // held during calls of the sink
	sink       retention.Sink                         // nil before begin and after the end
	endWatch   func()                                 // ends the watch, so that everything is listed again; nil without a watch
	evaluator  *engine.Evaluator
	objects    map[types.NamespacedName]keptObject
	evaluating sets.Set[*listEvaluation]
}

// begin sets the sink, and passes changed results to it until end is called.
func (m *reevaluator) begin(ctx context.Context, sink retention.Sink, c *engine.Compiler) (end func()) {
	m.mu.Lock()
	m.sink, m.evaluator, m.objects, m.evaluating = sink, c.NewEvaluator(ctx), map[types.NamespacedName]keptObject{}, sets.New[*listEvaluation]()
	m.mu.Unlock()
	m.changes.join(m)
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { m.follow(ctx) })
	return func() {
		cancel()
		following.Wait()
		m.changes.leave(m)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.evaluator.Close()
		m.sink, m.objects = nil, nil
	}
}

// restFactor times the duration of the last full evaluation is the pause before the next one.
const restFactor = 10

// follow evaluates objects again when references to them change, until ctx ends.
func (m *reevaluator) follow(ctx context.Context) {
	var rest <-chan time.Time // nil when a full evaluation may begin
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.changes.index.Changed():
			m.changes.distribute()
		case <-m.pending.wake.C():
		case <-rest:
			rest = nil
		}
		m.reevaluate(m.pending.takeNames())
		if rest == nil && m.pending.takeAll() {
			began := m.clock.Now()
			m.reevaluateAll(ctx)
			rest = m.clock.After(restFactor * m.clock.Since(began))
		}
	}
}

// reevaluateAll evaluates all objects again. In between, it evaluates objects whose references have just changed.
func (m *reevaluator) reevaluateAll(ctx context.Context) {
	for names := range slices.Chunk(m.names(), reevaluatedAtOnce) {
		if ctx.Err() != nil {
			return
		}
		m.reevaluate(names)
		m.changes.distribute()
		m.reevaluate(m.pending.takeNames())
	}
}

// names returns the objects whose results depend on references. Those of lists that are being evaluated are evaluated again.
func (m *reevaluator) names() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	for l := range m.evaluating {
		l.allOutdated = true
	}
	names := make([]types.NamespacedName, 0, len(m.objects))
	for name, known := range m.objects {
		if known.rules != nil {
			names = append(names, name)
		}
	}
	return names
}

// reevaluatedAtOnce is how many objects reevaluateAll evaluates before it turns to those whose references have changed.
const reevaluatedAtOnce = 100

// reevaluate evaluates known objects with the current references. Other callers of the sink wait for at most one of these
// evaluations.
func (m *reevaluator) reevaluate(names []types.NamespacedName) {
	for _, name := range names {
		m.reevaluateOne(name)
	}
}

func (m *reevaluator) reevaluateOne(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outdate(name)
	known := m.objects[name]
	if known.rules == nil || m.sink == nil {
		return
	}
	if row, _, err := m.evaluate(&known); err != nil {
		m.reportLost(err)
	} else {
		m.sink.Apply(row)
	}
}

// watching sets how to end the watch that is about to begin.
func (m *reevaluator) watching(end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endWatch = end
}

// reportLost handles a kept object that cannot be read, which is a bug. Nothing is deleted until everything is listed again, which
// begins soon.
func (m *reevaluator) reportLost(err error) {
	if m.sink == nil {
		return
	}
	m.sink.Lost(&retention.SourceError{Reason: "ListFailed", Message: fmt.Sprintf("cannot evaluate an object again: %v", err)})
	if m.endWatch != nil {
		m.endWatch()
	}
}

// evaluate evaluates the rules on what was kept of an object. mayChange is true if the results can change while the object does not.
func (m *reevaluator) evaluate(kept *keptObject) (row *index.FactRow, mayChange bool, err error) {
	subject, object, err := kept.rules.read(kept.text)
	if err != nil {
		return nil, false, err
	}
	m.evaluator.SetReferences(m.referencesTo(subject))
	row, mayChange = m.budget.evaluate(m.evaluator, kept.rules.RuleSet, subject, object)
	return row, mayChange, nil
}

// referencesTo returns the current references to an object, and those of the object.
func (m *reevaluator) referencesTo(s policy.Subject) *engine.References {
	target := m.target(s)
	uses := m.changes.index.Of(target)
	return &engine.References{
		Count: uses.Count, By: func() []engine.Referrer { return extract.Referrers(m.changes.index.By(target)) },
		Targets: uses.Targets, Missing: func() []engine.Referrer { return extract.Referrers(m.changes.index.Missing(target)) },
		Selected: uses.Selected, Incomplete: uses.Doubt, Unread: uses.Unread, Undeclared: uses.Undeclared, Since: uses.Since,
	}
}

func (m *reevaluator) target(s policy.Subject) references.Target {
	return references.Target{Kind: m.of, Namespace: s.Namespace, Name: s.Name}
}
