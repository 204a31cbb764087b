// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	chunkMost    = 100         // targets that are recorded together: one request reads the dependents of all
	sweepAt      = 100         // waiting targets of one kind from which on a listing reads them, and not one request for each
	changedPause = time.Second // before a target that has changed is evaluated again, so that the watch can bring the new version
	firstBackoff = time.Second // after a target could not be read; it doubles each time
	maxBackoff   = time.Minute
	readMost     = 8 << 20 // bytes of objects that are not in a segment yet, at which no others are read
	groupsAtOnce = 32      // groups whose objects are read at the same time
	idlePause    = time.Minute
)

// groupKey identifies the targets that can be recorded together.
type groupKey struct {
	kind      schema.GroupVersionKind
	namespace string
	settings  *policy.Archive
}

// group has the waiting requests of a groupKey. Only one goroutine reads objects of a group, so that a namespace whose objects are
// read slowly delays no other.
type group struct {
	waiting  []*request // includes some that are no longer needed
	busy     bool
	most     int       // targets to record together
	getUntil time.Time // until when single requests read the objects, because a listing has too many others
}

// dispatch starts to record what waits, and returns how long nothing more can start.
func (w *worker) dispatch(ctx context.Context, working *sync.WaitGroup) time.Duration {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	next, ready := now.Add(idlePause), []retention.Candidate(nil)
	due, total, busy := map[groupKey][]*request{}, map[groupKey]int{}, 0
	for key, g := range w.groups {
		if g.busy {
			busy++
			continue
		}
		requests, at := w.due(key, g, now, &ready)
		if !at.IsZero() && at.Before(next) {
			next = at
		}
		if len(requests) > 0 {
			due[key] = requests
			total[key.everywhere()] += len(requests)
		}
	}
	if w.trouble() == nil {
		for key := range due {
			if g := w.groups[key]; !g.busy && w.read < readMost && busy < groupsAtOnce {
				busy++
				w.begin(ctx, working, key, due, total[key.everywhere()], now)
			}
		}
	}
	w.mu.Unlock()
	callReady(ready)
	return next.Sub(now)
}

// everywhere is the key of the same targets in all namespaces.
func (k groupKey) everywhere() groupKey {
	k.namespace = ""
	return k
}

// due drops the requests of a group that are no longer needed, and returns those that may be read now, and when the next may be.
func (w *worker) due(key groupKey, g *group, now time.Time, ready *[]retention.Candidate) (due []*request, next time.Time) {
	kept := g.waiting[:0]
	for _, r := range g.waiting {
		r.queued = false
		switch {
		case w.requests[r.target.UID] != r || r.underway:
			continue
		case r.recorded:
			delete(w.requests, r.target.UID)
			*ready = append(*ready, r.candidate)
			continue
		case r.isStale() && !r.after.After(now):
			r.told = true // it stays until the candidate asks, or is withdrawn
			*ready = append(*ready, r.candidate)
			continue
		case r.after.After(now):
			if next.IsZero() || r.after.Before(next) {
				next = r.after
			}
		default:
			due = append(due, r)
		}
		r.queued = true
		kept = append(kept, r)
	}
	clear(g.waiting[len(kept):])
	if g.waiting = kept; len(kept) == 0 {
		delete(w.groups, key)
	}
	return due, next
}

// begin starts to record the due targets of a group, or of all groups that a listing can read with it. The caller holds mu.
func (w *worker) begin(ctx context.Context, working *sync.WaitGroup, key groupKey, due map[groupKey][]*request, total int, now time.Time) {
	g, requests := w.groups[key], due[key]
	many := !now.Before(g.getUntil)
	switch {
	case many && len(requests) >= sweepAt:
		g.busy = true
		working.Go(func() { w.sweep(ctx, key, []groupKey{key}) })
	case many && total >= sweepAt:
		var keys []groupKey
		for other := range due {
			if o := w.groups[other]; other.everywhere() == key.everywhere() && !o.busy {
				o.busy = true
				keys = append(keys, other)
			}
		}
		working.Go(func() { w.sweep(ctx, key.everywhere(), keys) })
	default:
		g.busy = true
		requests = requests[:min(len(requests), g.most)]
		for _, r := range requests {
			r.underway = true
		}
		working.Go(func() { w.capture(ctx, key, requests) })
	}
}

// release ends the work on groups.
func (w *worker) release(keys ...groupKey) {
	w.mu.Lock()
	for _, key := range keys {
		if g := w.groups[key]; g != nil {
			g.busy = false
		}
	}
	w.mu.Unlock()
	w.wake.Send()
}

// putBack returns a request to its group. The caller holds mu.
func (w *worker) putBack(r *request) {
	if w.requests[r.target.UID] != r {
		return
	}
	r.underway = false
	if r.candidate == nil { // only expected, or withdrawn
		delete(w.requests, r.target.UID)
		return
	}
	w.queue(r)
}

// retry has targets read again after a while. The reason is reported, because their candidates are evaluated again now.
func (w *worker) retry(err error, requests ...*request) {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	var ready []retention.Candidate
	for _, r := range requests {
		r.err, r.after = err, now.Add(min(firstBackoff<<min(r.failures, 10), maxBackoff))
		r.failures++
		w.putBack(r)
		if r.candidate != nil {
			ready = append(ready, r.candidate)
		}
	}
	w.mu.Unlock()
	callReady(ready)
	w.wake.Send()
}

// changed has targets evaluated again of which the API server has another version (Changed), or none (Gone).
func (w *worker) changed(to retention.Result, requests ...*request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range requests {
		r.stale, r.after = to, w.manager.Clock.Now().Add(changedPause)
		w.putBack(r)
	}
	w.wake.Send()
}

// again has targets read again, as soon as there is space.
func (w *worker) again(requests ...*request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range requests {
		w.putBack(r)
	}
}
