// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"container/heap"
	"fmt"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// waiting is ordered like the priority queue: the highest priority first, and of equal ones the earliest.
type waiting []ticket

type ticket struct {
	key      string
	priority int
	came     int
}

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	if w[i].priority != w[j].priority {
		return w[i].priority > w[j].priority
	}
	return w[i].came < w[j].came
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(ticket)) }
func (w *waiting) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// queue is a set of lanes with their waiting subjects.
type queue struct {
	*fairQueue
	waiting waiting
	came    int
}

// priority returns the priority of one more subject of a policy and a namespace.
func (q *queue) priority(policy, namespace string) int {
	return q.fairQueue.join(queueKey{policy: policy}, queueKey{namespace: namespace})
}

func (q *queue) join(policy, namespace string, times int) {
	for range times {
		q.came++
		heap.Push(&q.waiting, ticket{policy + "/" + namespace, q.priority(policy, namespace), q.came})
	}
}

// serve removes the next subjects and counts them by lane.
func (q *queue) serve(times int) map[string]int {
	served := map[string]int{}
	for range times {
		next := heap.Pop(&q.waiting).(ticket)
		q.served(next.priority, len(q.waiting))
		served[next.key]++
	}
	return served
}

func TestFairQueueSharesTurns(t *testing.T) {
	q := &queue{fairQueue: newFairQueue()}
	q.join("a", "big", 10_000)
	q.join("a", "small", 10)
	expect.Equal(t, "served", map[string]int{"a/big": 10, "a/small": 10}, q.serve(20))
	expect.Equal(t, "served next", map[string]int{"a/big": 100}, q.serve(100))
}

func TestFairQueueServesALateLaneNext(t *testing.T) {
	q := &queue{fairQueue: newFairQueue()}
	q.join("a", "big", 10_000)
	q.serve(5_000)
	q.join("b", "late", 10)
	served := q.serve(20)
	if served["b/late"] < 9 {
		t.Errorf("served %v of 20, want about half of each", served)
	}
}

func TestFairQueueOfPoliciesAndNamespaces(t *testing.T) {
	q := &queue{fairQueue: newFairQueue()}
	q.join("a", "x", 100)
	q.join("a", "y", 100)
	q.join("b", "x", 100)
	expect.Equal(t, "served", map[string]int{"a/x": 10, "a/y": 10, "b/x": 10}, q.serve(30))
}

func TestFairQueueBoundsTheWaitOfANewLane(t *testing.T) {
	const policies, namespaces = 50, 40
	q := &queue{fairQueue: newFairQueue()}
	for i := range policies {
		for k := range namespaces {
			q.join(fmt.Sprint("p-", i), fmt.Sprint("n-", k), 1)
		}
	}
	q.serve(policies)
	q.join("few", "quiet", 1)
	if q.serve(policies + namespaces)["few/quiet"] == 0 {
		t.Errorf("not served after %d others, although each policy and each namespace had its turn", policies+namespaces)
	}
}

// TestObjectThatJoinsAnEmptyQueueKeepsItsTurn: a worker counts the waiting subjects, and reports the number after others
// have joined.
func TestObjectThatJoinsAnEmptyQueueKeepsItsTurn(t *testing.T) {
	q := &queue{fairQueue: newFairQueue()}
	first := q.priority("a", "big")
	q.join("a", "big", 1000)
	q.served(first, 0)
	q.join("a", "big", 1000)
	q.join("b", "late", 10)
	if served := q.serve(22); served["b/late"] < 10 {
		t.Errorf("served %v, want the 10 late ones and about as many of the others", served)
	}
}

func TestFairQueueGivesNoCreditForAbsence(t *testing.T) {
	q := &queue{fairQueue: newFairQueue()}
	q.join("a", "idle", 1)
	q.join("a", "busy", 1000)
	q.serve(500)
	q.join("a", "idle", 400)
	served := q.serve(400)
	if n := served["a/busy"]; n < 199 || n > 201 {
		t.Errorf("served %v, want half of each", served)
	}
}

func TestFairQueueForgetsFinishedLanes(t *testing.T) {
	q := &queue{fairQueue: newFairQueue()}
	for i := range 1000 {
		q.join("a", fmt.Sprint("ci-", i), 3)
	}
	expect.Equal(t, "lanes", 1001, len(q.last))
	q.serve(3000)
	expect.Equal(t, "lanes after all were served", 0, len(q.last))
	for i := range 1000 {
		q.join("a", fmt.Sprint("preview-", i), 1)
		q.serve(1)
	}
	expect.Equal(t, "lanes if each was served at once", 0, len(q.last))
}
