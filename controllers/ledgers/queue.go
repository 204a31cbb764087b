// SPDX-License-Identifier: Apache-2.0

package ledgers

import "slices"

// queue holds the requests that wait to be recorded. Namespaces take turns, so that none waits for the backlog of another.
type queue struct {
	waiting map[string][]*request // by namespace
	turns   []string              // namespaces with waiting requests
	len     int
}

func (q *queue) push(r *request) {
	if q.waiting == nil {
		q.waiting = map[string][]*request{}
	}
	if len(q.waiting[r.namespace]) == 0 {
		q.turns = append(q.turns, r.namespace)
	}
	q.waiting[r.namespace] = append(q.waiting[r.namespace], r)
	q.len++
}

// pop returns the next request of an admitted namespace; nil if none is waiting. The other namespaces keep their turns.
func (q *queue) pop(admits func(namespace string) bool) *request {
	turn := slices.IndexFunc(q.turns, admits)
	if turn < 0 {
		return nil
	}
	namespace := q.turns[turn]
	if turn == 0 {
		q.turns = q.turns[1:] // without copying
	} else {
		q.turns = slices.Delete(q.turns, turn, turn+1)
	}
	all := q.waiting[namespace]
	first, rest := all[0], all[1:]
	all[0] = nil // the array stays until the queue of the namespace is empty
	if len(rest) == 0 {
		delete(q.waiting, namespace)
	} else {
		q.waiting[namespace] = rest
		q.turns = append(q.turns, namespace)
	}
	q.len--
	return first
}

// remove removes a request. It reports false if the request is not waiting.
func (q *queue) remove(r *request) bool {
	all := q.waiting[r.namespace]
	at := slices.Index(all, r)
	switch {
	case at < 0:
		return false
	case len(all) == 1:
		delete(q.waiting, r.namespace)
		turn := slices.Index(q.turns, r.namespace)
		q.turns = slices.Delete(q.turns, turn, turn+1)
	default:
		q.waiting[r.namespace] = slices.Delete(all, at, at+1)
	}
	q.len--
	return true
}

// retain drops the requests for which keep returns false.
func (q *queue) retain(keep func(*request) bool) {
	var all []*request
	everyone := func(string) bool { return true }
	for r := q.pop(everyone); r != nil; r = q.pop(everyone) {
		all = append(all, r)
	}
	for _, r := range all {
		if keep(r) {
			q.push(r)
		}
	}
}

// pruneQueue drops requests whose subjects no longer exist, or are kept. It looks only at some, in any order: deletions wait for mu.
func (w *worker) pruneQueue() {
	defer func() { w.prune = max(pruneAt, w.queue.len+min(w.queue.len, pruneMost)) }()
	ended, seen := map[*request]bool{}, 0
	for _, r := range w.requests {
		if r.recorded != nil {
			continue
		}
		if seen++; seen > pruneMost {
			break
		}
		if _, _, ok := r.entryOf(w.uid); !ok {
			ended[r] = true
		}
	}
	if len(ended) == 0 {
		return
	}
	w.queue.retain(func(r *request) bool {
		if !ended[r] {
			return true
		}
		delete(w.requests, r.uid)
		r.candidate.Ready() // if the subject is only kept for a while, it gets a new due time
		return false
	})
}
