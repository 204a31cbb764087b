// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// OutcomeOf returns what a response to a DELETE means.
var OutcomeOf = outcomeOf

// SourceErrorOf returns the SourceError of a failed list or watch.
var SourceErrorOf = sourceErrorOf

// EvaluationBudget limits the evaluation of rules of RetentionPolicies for the tests.
type EvaluationBudget struct{ evaluationBudget }

// NewEvaluationBudget returns an EvaluationBudget.
func NewEvaluationBudget(c clock.PassiveClock) *EvaluationBudget {
	return &EvaluationBudget{evaluationBudget{clock: c}}
}

// ErrNoTime is the error of facts without an evaluation.
var ErrNoTime = errNoTime

// Evaluate evaluates the rules on an object.
func (a *EvaluationBudget) Evaluate(e *engine.Evaluator, q retention.RuleSet, namespace string, object map[string]any) ([]policy.Facts, bool) {
	row, _ := a.evaluate(e, q, policy.Subject{Namespace: namespace}, object)
	return row.Facts(), row.IsStale()
}

// Debtors returns the number of namespaces in debt.
func (a *EvaluationBudget) Debtors() int {
	_ = a.left("")
	return len(a.debts)
}

// The limits of an EvaluationBudget.
const (
	MostDebt, ShareOfOne, ShareOfAll = mostDebt, shareOfOne, shareOfAll
	FreeTime, FreeOfOne, FreeOfAll   = freeTime, freeOfOne, freeOfAll
)

// Decoder decodes objects of a kind into facts for the tests.
type Decoder struct{ *decoder }

// NewDecoder returns a Decoder.
func NewDecoder(q retention.RuleSet, e *engine.Evaluator) Decoder {
	return Decoder{newDecoder(q, e, &evaluationBudget{clock: clock.RealClock{}})}
}

// SetRules sets the rules for later objects.
func (d Decoder) SetRules(q retention.RuleSet) { d.setRules(q) }

// Object decodes one object.
func (d Decoder) Object(data string) (*index.FactRow, error) {
	o, err := d.object([]byte(data))
	if err != nil {
		return nil, err
	}
	return o.row, nil
}

// Deleted decodes a deleted object.
func (d Decoder) Deleted(data string) (*index.FactRow, error) {
	o, err := d.decoder.Deleted([]byte(data))
	if err != nil {
		return nil, err
	}
	return o.(*observation).row, nil
}

// Keep returns the rules that the kept object of an object has. The first result is equal for objects that share them.
func (d Decoder) Keep(data string) (shared any, rules retention.RuleSet, err error) {
	d.keeps = true
	o, err := d.object([]byte(data))
	if err != nil {
		return nil, retention.RuleSet{}, err
	}
	return o.kept.rules, o.kept.rules.RuleSet, nil
}

// Close closes the decoder.
func (d Decoder) Close() { d.close() }

// Open opens a source that does not run.
func Open(q retention.RuleSet) retention.Relister { return (&Cluster{}).Open(q).(retention.Relister) }

// Kept returns what a source keeps of objects to evaluate them again, by namespace/name.
func Kept(s retention.Source) map[string]string {
	m := s.(*source).reevaluator
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := make(map[string]string, len(m.objects))
	for name, r := range m.objects {
		kept[name.String()] = r.text
	}
	return kept
}

// Spoil makes the kept objects of a source unreadable.
func Spoil(s retention.Source) {
	m := s.(*source).reevaluator
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, r := range m.objects {
		r.text = "{"
		m.objects[name] = r
	}
}

// Reevaluator is a reevaluator for the benchmarks. It evaluates only when a method is called.
type Reevaluator struct {
	*reevaluator
	decoder *decoder
}

// NewReevaluator returns a Reevaluator that writes to a sink.
func NewReevaluator(ctx context.Context, q retention.RuleSet, x *references.Index, c *engine.Compiler, k retention.Sink) *Reevaluator {
	m := &reevaluator{
		kind: q.Kind, clock: clock.RealClock{}, changes: newChanges(x), pending: newPendingObjects(),
		sink: k, evaluator: c.NewEvaluator(ctx), objects: map[types.NamespacedName]keptObject{},
	}
	m.budget = &evaluationBudget{clock: clock.RealClock{}}
	d := newDecoder(q, c.NewEvaluator(ctx), m.budget)
	d.keeps = true
	return &Reevaluator{m, d}
}

// Replace lists objects.
func (m *Reevaluator) Replace(objects []string) error {
	list := make([]any, len(objects))
	for i, text := range objects {
		o, err := m.decoder.object([]byte(text))
		if err != nil {
			return err
		}
		list[i] = o
	}
	return m.reevaluator.Replace(list, "")
}

// ReevaluateAll evaluates all objects again.
func (m *Reevaluator) ReevaluateAll(ctx context.Context) { m.reevaluateAll(ctx) }

// Ask evaluates one object again.
func (m *Reevaluator) Ask(name types.NamespacedName) { m.reevaluate([]types.NamespacedName{name}) }

// PendingAtMost limits how many objects wait by name for another evaluation.
const PendingAtMost = pendingAtMost

var (
	_ retention.Source    = (*source)(nil)
	_ retention.Relister  = (*source)(nil)
	_ retention.Confirmer = (*source)(nil)
)

// Busy simulates an evaluation that lasts until end is called.
func (d Decoder) Busy() (end func()) {
	d.one.Lock()
	return d.one.Unlock
}
