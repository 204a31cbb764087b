// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	tickEvery    = 5 * time.Second
	probeEvery   = 5 * time.Minute
	probeFirst   = 2 * time.Second // between probes while the store fails; it doubles each time
	probeMost    = 30 * time.Second
	probeTimeout = 30 * time.Second
	leavePause   = time.Second // between two looks at the deletions in flight
)

// upkeep is what a worker does beside recording, and when it last did it. Only its own goroutine uses it.
type upkeep struct {
	*worker
	probed, statusAt time.Time
	probePause       time.Duration
	generation       int64
	trimmer          trimmer
}

// upkeep probes the store, writes the index, deletes what retain says and writes the status, until ctx ends.
func (w *worker) upkeep(ctx context.Context) {
	u := &upkeep{worker: w, trimmer: trimmer{worker: w}}
	for pause := time.Duration(0); w.attend.Wait(ctx, w.manager.Clock, pause); pause = tickEvery {
		u.tick(ctx)
	}
}

func (u *upkeep) tick(ctx context.Context) {
	u.mu.Lock()
	s, invalid, failure := u.spec, u.invalid, cmp.Or(u.failure(), u.index.backlog())
	u.mu.Unlock()
	now := u.manager.Clock.Now()
	u.report()
	if invalid != nil || u.generation == s.object.Generation { // before its probe, nothing is known about a new spec
		u.writeStatus(ctx, s) // at once: the rest can take long
	}
	if invalid == nil {
		u.probeIfDue(ctx, s, failure, now)
		u.expireReceipts(now)
		u.trimmer.trim(ctx, s, now)
	}
	u.writeStatus(ctx, s)
}

// probeIfDue tests the store: at the start, after a change of the RetentionArchive, every few minutes, and more often while it fails.
func (u *upkeep) probeIfDue(ctx context.Context, s spec, failure error, now time.Time) {
	pause := probeEvery
	if failure != nil {
		pause = max(u.probePause, probeFirst)
	}
	if u.generation == s.object.Generation && now.Sub(u.probed) < pause {
		return
	}
	changed := u.generation != s.object.Generation
	u.generation, u.probed = s.object.Generation, now
	p := u.probeNow(ctx)
	u.note(func(was *store.Probe) {
		if changed || now.Sub(u.refusedAt) > refusalLasts {
			u.refusal = nil
		}
		if u.retrying { // the writer knows more
			p.Write = was.Write
		}
		*was, u.index.written = p, u.index.written || p.Write == nil // it was an object of the index
	})
	if cmp.Or(p.Write, p.Read) != nil {
		u.probePause = min(2*max(u.probePause, probeFirst), probeMost)
		return
	}
	u.probePause = 0
}

// probeNow tests the store.
func (w *worker) probeNow(ctx context.Context) store.Probe {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	bucket, err := w.writable(ctx)
	if err != nil {
		return store.Probe{Write: err, Read: err, Delete: err}
	}
	return bucket.Probe(ctx)
}

// failedToWrite notes that a segment could not be written, or was read back differently.
func (w *worker) failedToWrite(err error) {
	w.note(func(p *store.Probe) {
		if w.retrying = !errors.Is(err, archive.ErrCorrupt); w.retrying {
			p.Write = err
		} else {
			p.Write, p.Read, w.damage, w.damaged = nil, err, err, w.manager.Clock.Now()
		}
	})
}

// wrote notes that a segment was written and read back, or given back because the store refuses it and takes others.
func (w *worker) wrote(refusal error) {
	w.note(func(p *store.Probe) { p.Write, p.Read, w.retrying, w.refusal, w.damage = nil, nil, false, refusal, nil })
}

// expireReceipts forgets old receipts, and notes that nothing deleted their objects.
func (u *upkeep) expireReceipts(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.index.kept(u.receipts.expire(now), now)
	for uid, r := range u.requests {
		if r.isStale() && !r.queued && now.Sub(r.after) > time.Minute { // its subject no longer exists
			delete(u.requests, uid)
			r.readyLater()
		}
	}
}

// leave waits for the deletions in flight and writes what is left, if the RetentionArchive no longer exists while the process goes on.
// Nothing waits for it any more, even if it cannot be written.
func (w *worker) leave(ctx context.Context) {
	for ctx.Err() == nil && w.inFlight() {
		wake.Sleep(ctx, w.manager.Clock, leavePause)
	}
	if ctx.Err() == nil {
		w.finish(ctx, true)
		w.mu.Lock()
		waiting := w.index.waiting
		w.index.waiting = nil
		w.mu.Unlock()
		callAll(waiting)
	}
}

func (w *worker) inFlight() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.receipts.inFlight()
}

// finish writes the results of the last deletions. If all of them have ended, the objects of all other receipts were not deleted.
func (w *worker) finish(ctx context.Context, ended bool) {
	w.mu.Lock()
	left := w.receipts
	w.receipts = newReceipts(w.manager.Clock.Now, w.spec.recipients)
	for _, r := range left.by {
		if ended {
			r.used = time.Time{}
			w.index.kept([]*receipt{r}, w.manager.Clock.Now())
		}
	}
	w.mu.Unlock()
	if err := w.flush(ctx); err != nil {
		log.FromContext(ctx).Error(err, "index of the archive not written", "archive", w.name)
	}
}
