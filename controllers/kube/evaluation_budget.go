// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	// The evaluation of the rules of RetentionPolicies is free within these limits. Other time becomes a debt of their namespace.
	freeTime  = time.Millisecond       // on one object
	freeOfOne = 100 * time.Millisecond // in one second in one namespace
	freeOfAll = 250 * time.Millisecond // in one second in all namespaces together; each namespace may always use its own part

	mostDebt = 500 * time.Millisecond // with more, no rule of the namespace is evaluated
	// A namespace pays back a tenth of the time that passes, and all namespaces together half of it.
	shareOfOne, shareOfAll = 10, 2
)

var errNoTime = errors.New("not evaluated yet, Sunset retries")

// evaluationBudget limits how long the rules of each namespace's RetentionPolicies are evaluated, so that every other evaluation waits
// for at most one of them.
type evaluationBudget struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	debts map[string]time.Duration // by namespace; only namespaces in debt
	paid  time.Time                // when debts were last paid back

	second  time.Time                // when the current second began
	free    map[string]time.Duration // free time that each namespace used in this second
	freeAll time.Duration            // free time that all namespaces used in this second
	users   int                      // how many namespaces used free time in the second before

	noTime map[time.Duration]error // what noTimeLeft has returned
}

// evaluate evaluates the rules on an object. If the object's namespace has no time left, the facts of that namespace's rules have an
// error instead, and the row says that it should be evaluated again. readsReferences is true if a rule that selects the object reads
// its references.
func (a *evaluationBudget) evaluate(e *engine.Evaluator, q retention.RuleSet, s policy.Subject, object map[string]any) (row *index.FactRow, readsReferences bool) {
	asked, general := q.About(s.Namespace), len(q.Everywhere.Rules)
	var left, took time.Duration
	if len(asked.Rules) > general {
		left = a.left(s.Namespace)
	}
	facts := func(rule *engine.Program, own bool) (f policy.Facts) {
		switch {
		case !own:
			return e.Facts(rule, object)
		case took >= left:
			return e.UnevaluatedFacts(rule, object, a.noTimeLeft(mostDebt-left+took))
		}
		began := a.clock.Now()
		f = e.Facts(rule, object)
		took += a.clock.Since(began)
		return f
	}
	again := false
	row = index.NewSparseFactRow(s, asked.Layout, func(yield func(int, policy.Facts) bool) {
		for i := range q.Selected(s.Namespace, object) {
			f := facts(asked.Rules[i], i >= general)
			again = again || errors.Is(f.Err, errNoTime) || errors.Is(f.Err, engine.ErrDeadline)
			readsReferences = readsReferences || f.Selected && asked.Rules[i].ReadsReferences()
			if !yield(i, f) {
				return
			}
		}
	})
	if took > 0 {
		a.owe(s.Namespace, took)
	}
	return row.EvaluateAgain(again), readsReferences
}

// noTimeLeft returns an errNoTime with the debt of a namespace, rounded down to mostDebt times a power of two: it is in the facts of very
// many objects, and a status changes with it.
func (a *evaluationBudget) noTimeLeft(debt time.Duration) error {
	least := mostDebt
	for 2*least <= debt {
		least *= 2
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.noTime == nil {
		a.noTime = map[time.Duration]error{}
	}
	if a.noTime[least] == nil {
		a.noTime[least] = fmt.Errorf("%w: the rules of the RetentionPolicies in this namespace used at least %s more than the evaluation time that is free "+
			"(%s on one object and %s in a second); they may use %s more at once, and then a tenth of the time that passes; simplify the expressions",
			errNoTime, least, freeTime, freeOfOne, mostDebt)
	}
	return a.noTime[least]
}

// left returns how long the rules of a namespace may take now.
func (a *evaluationBudget) left(namespace string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.payBack()
	return mostDebt - a.debts[namespace]
}

// owe adds the time that the rules of a namespace took on one object to the namespace's debt, unless the time is free.
func (a *evaluationBudget) owe(namespace string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.payBack()
	if a.isFree(namespace, took) {
		return
	}
	if a.debts == nil {
		a.debts = map[string]time.Duration{}
	}
	a.debts[namespace] += took
}

// isFree reports whether the time that rules took on one object is free. If so, it counts the time as used.
func (a *evaluationBudget) isFree(namespace string, took time.Duration) bool {
	if a.free == nil || a.paid.Sub(a.second) >= time.Second {
		a.users = len(a.free)
		a.second, a.free, a.freeAll = a.paid, map[string]time.Duration{}, 0
	}
	used := a.free[namespace] + took
	own := freeOfAll / time.Duration(max(a.users, len(a.free), 1)) // no other namespace can use up this part
	if took > freeTime || used > freeOfOne || a.freeAll+took > freeOfAll && used > own {
		return false
	}
	a.free[namespace] += took
	a.freeAll += took
	return true
}

func (a *evaluationBudget) payBack() {
	now := a.clock.Now()
	passed := now.Sub(a.paid)
	a.paid = now
	if len(a.debts) == 0 {
		return
	}
	part := min(passed/shareOfOne, passed/shareOfAll/time.Duration(len(a.debts)))
	for namespace, debt := range a.debts {
		if debt <= part {
			delete(a.debts, namespace)
		} else {
			a.debts[namespace] = debt - part
		}
	}
}
