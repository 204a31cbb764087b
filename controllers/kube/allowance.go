package kube

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	freeTime  = time.Millisecond       // for the rules of RetentionPolicies on one object; a longer time is a debt of their namespace,
	freeOfOne = 100 * time.Millisecond // as is what takes less, beyond this in a second in a namespace,
	freeOfAll = 250 * time.Millisecond // or beyond this in all namespaces together and the namespace's own part of it
	mostDebt  = 500 * time.Millisecond // with more, no rule of the namespace is evaluated
	// A namespace pays back a tenth of the time that passes, and all namespaces together half of it.
	shareOfOne, shareOfAll = 10, 2
)

var errNoTime = fmt.Errorf("not evaluated yet, Sunset retries it: rules of RetentionPolicies that take more than %s on one object, or %s in a second, "+
	"may use %s at once and a tenth of the time in each namespace; simplify the expressions", freeTime, freeOfOne, mostDebt)

// allowance bounds for how long the rules of each namespace's RetentionPolicies are evaluated, so that all other evaluations wait
// for one of them at most.
type allowance struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	debts map[string]time.Duration // by namespace; no more than those that have some
	paid  time.Time                // when some of them was last paid back

	second  time.Time                // when the current second began
	free    map[string]time.Duration // what each namespace used in it without a debt
	freeAll time.Duration            // and all together
	users   int                      // how many namespaces used some in the second before
}

// ask asks the rules about an object, but for those of its namespace while that has no time left: their facts have an error. It
// reports whether some facts are worth asking for again.
func (a *allowance) ask(e *engine.Evaluator, q retention.RuleSet, namespace string, object map[string]any) (facts []policy.Facts, again bool) {
	rules, general := q.About(namespace).Rules, len(q.Everywhere.Rules)
	facts = make([]policy.Facts, len(rules))
	var left, took time.Duration
	if len(rules) > general {
		left = a.left(namespace)
	}
	for i, rule := range rules {
		switch {
		case i < general:
			facts[i] = e.Facts(rule, object)
		case took >= left:
			facts[i] = e.NotAsked(rule, object, errNoTime)
		default:
			began := a.clock.Now()
			facts[i] = e.Facts(rule, object)
			took += a.clock.Since(began)
		}
		again = again || errors.Is(facts[i].Err, errNoTime) || errors.Is(facts[i].Err, engine.ErrDeadline)
	}
	if took > 0 {
		a.owe(namespace, took)
	}
	return facts, again
}

// left is the time that the rules of a namespace may take now.
func (a *allowance) left(namespace string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.payBack()
	return mostDebt - a.debts[namespace]
}

// owe adds the time that the rules of a namespace took on one object to its debt, unless it is free.
func (a *allowance) owe(namespace string, took time.Duration) {
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

// isFree reports whether a time on one object is free, and uses it.
func (a *allowance) isFree(namespace string, took time.Duration) bool {
	if a.free == nil || a.paid.Sub(a.second) >= time.Second {
		a.users = len(a.free)
		a.second, a.free, a.freeAll = a.paid, map[string]time.Duration{}, 0
	}
	used := a.free[namespace] + took
	own := freeOfAll / time.Duration(max(a.users, len(a.free), 1)) // which no other namespace can use up
	if took > freeTime || used > freeOfOne || a.freeAll+took > freeOfAll && used > own {
		return false
	}
	a.free[namespace] += took
	a.freeAll += took
	return true
}

func (a *allowance) payBack() {
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
