// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	chunkMost    = 100         // targets that are recorded together: one request reads the dependents of all
	sweepAt      = 10          // waiting targets of a group from which on a listing reads them, and not one request for each
	changedPause = time.Second // before a target that has changed is evaluated again, so that the watch can bring the new version
	firstBackoff = time.Second // after a target could not be read; it doubles each time
	maxBackoff   = time.Minute
	idlePause    = time.Minute
	groupLife    = time.Hour // how long a group is remembered that can record only few targets together
)

// groupKey identifies the targets that can be recorded together.
type groupKey struct {
	kind      schema.GroupVersionKind
	namespace string
	settings  *policy.Archive // one pointer for equal settings
}

// group has the waiting requests of a groupKey. Only one goroutine reads objects of a group.
type group struct {
	waiting  []*request // includes some that are no longer needed
	busy     bool
	most     int       // targets to record together
	began    time.Time // when it was last busy
	getUntil time.Time // until when single requests read the objects, because a listing has too many others
}

// settingsMost is how many settings a worker remembers. Rules that are edited have new ones.
const settingsMost = 100

// settingsOf has one pointer for equal settings of groups.
type settingsOf struct {
	all          []*policy.Archive
	asked, known *policy.Archive // by the last call: most targets in a row have the same
}

// of returns the pointer for settings.
func (s *settingsOf) of(a *policy.Archive) *policy.Archive {
	if s.asked != a {
		i := slices.IndexFunc(s.all, a.Equal)
		if i < 0 && len(s.all) >= settingsMost {
			s.all = nil
		}
		if i < 0 {
			i, s.all = len(s.all), append(s.all, a)
		}
		s.asked, s.known = a, s.all[i]
	}
	return s.known
}

// keyOf returns the group of a target. The caller holds mu.
func (w *worker) keyOf(t policy.Target, a *policy.Archive) groupKey {
	return groupKey{kind: t.Kind, namespace: t.Namespace, settings: w.settings.of(a)}
}

// dispatch starts to record what waits, and returns how long nothing more can start.
func (w *worker) dispatch(ctx context.Context, working *sync.WaitGroup) time.Duration {
	w.mu.Lock()
	now := w.manager.Clock.Now()
	next, ready := now.Add(idlePause), []retention.Candidate(nil)
	for key, g := range w.groups {
		if g.busy {
			continue
		}
		requests, at := w.due(key, g, now, &ready)
		if !at.IsZero() && at.Before(next) {
			next = at
		}
		if len(requests) == 0 || w.problem() != nil {
			continue
		}
		if l := w.lease(key.namespace); l != nil { // otherwise the end of another lease wakes dispatch
			w.begin(ctx, working, key, l, requests, now)
		}
	}
	w.mu.Unlock()
	callReady(ready)
	return next.Sub(now)
}

// due drops the requests of a group that are no longer needed, and returns those that may be read now, and when the next may be.
func (w *worker) due(key groupKey, g *group, now time.Time, ready *[]retention.Candidate) (due []*request, next time.Time) {
	kept := g.waiting[:0]
	for _, r := range g.waiting {
		r.queued = false
		switch {
		case w.requests[r.target.UID] != r || r.underway:
			continue
		case r.isStale() && !r.after.After(now): // it stays until the candidate asks, or is withdrawn
			*ready = append(*ready, r.candidates()...)
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
	if g.waiting = kept; len(kept) == 0 && (g.most == chunkMost || now.Sub(g.began) > groupLife) {
		delete(w.groups, key)
	}
	return due, next
}

// begin starts to record the due targets of a group. The caller holds mu.
func (w *worker) begin(ctx context.Context, working *sync.WaitGroup, key groupKey, l *lease, due []*request, now time.Time) {
	g := w.groups[key]
	g.busy, g.began = true, now
	record := w.sweep
	if len(due) < sweepAt || now.Before(g.getUntil) {
		record, due = w.capture, due[:min(len(due), g.most)]
		for _, r := range due {
			r.underway = true
		}
	}
	working.Go(func() {
		record(ctx, key, l, due)
		w.mu.Lock()
		if g := w.groups[key]; g != nil {
			g.busy = false
		}
		w.mu.Unlock()
		l.end()
	})
}

// putBack returns a request to its group. The caller holds mu.
func (w *worker) putBack(r *request) {
	if w.requests[r.target.UID] != r {
		return
	}
	r.underway = false
	if r.candidate == nil { // only expected, or withdrawn
		delete(w.requests, r.target.UID)
		r.readyLater()
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
		ready = append(ready, r.candidates()...)
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
