// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	tickEvery     = 5 * time.Second
	remindEvery   = 10 * time.Second // while nothing can be recorded: between two reminders of the candidates, which report why
	probeEvery    = 5 * time.Minute
	probeFirst    = 2 * time.Second // between probes while the store fails; it doubles each time
	probeMost     = 30 * time.Second
	probeTimeout  = 30 * time.Second
	flushEvery    = 15 * time.Second
	flushTimeout  = time.Minute
	retainEvery   = time.Hour
	retainMost    = 2000             // objects that retain deletes in an hour
	retainAtOnce  = 50               // objects that it deletes in a tick
	deleteTimeout = 10 * time.Second // of one of them
	listTimeout   = 5 * time.Minute
)

// upkeep is what a worker does beside recording, and when it last did it. Only its own goroutine uses it.
type upkeep struct {
	*worker
	probed, flushed, retained, reminded time.Time
	probePause                          time.Duration
	generation                          int64
	expired                             []string // names of objects to delete
	refused                             int      // of them, in this hour
	statusAt                            time.Time
}

// upkeep probes the store, writes the index, deletes what retain says and writes the status, until ctx ends.
func (w *worker) upkeep(ctx context.Context) {
	u := &upkeep{worker: w}
	for pause := time.Duration(0); w.attend.Wait(ctx, w.manager.Clock, pause); pause = tickEvery {
		u.tick(ctx)
	}
}

func (u *upkeep) tick(ctx context.Context) {
	u.mu.Lock()
	s, invalid, failure := u.spec, u.invalid, u.failure
	u.mu.Unlock()
	now := u.manager.Clock.Now()
	if (invalid != nil || failure != nil) && now.Sub(u.reminded) >= remindEvery {
		u.reminded = now
		callReady(u.candidates())
	}
	u.report()
	if s.object == nil {
		return
	}
	if invalid == nil {
		u.probeIfDue(ctx, s, failure, now)
		u.expireReceipts(now)
		u.flushIfDue(ctx, now)
		u.retain(ctx, s, now)
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
	u.generation, u.probed = s.object.Generation, now
	p := u.probeNow(ctx)
	u.mu.Lock()
	refused := u.refusedDelete()
	u.probe = p
	if p.Delete == nil && refused != nil {
		u.probe.Delete = refused
	}
	u.mu.Unlock()
	if err := firstOf(p.Write, p.Read); err != nil {
		u.probePause = min(2*max(u.probePause, probeFirst), probeMost)
		u.failed(err)
		return
	}
	u.probePause = 0
	u.works()
}

// refusedDelete returns an error if the store has refused to delete what retain says.
func (u *upkeep) refusedDelete() error {
	if u.refused == 0 {
		return nil
	}
	return fmt.Errorf("the store refused to delete %d objects that are older than spec.retain, because of object lock, a hold in the store or a missing permission; Sunset retries every hour", u.refused)
}

func (u *upkeep) probeNow(ctx context.Context) store.Probe {
	all := func(err error) store.Probe { return store.Probe{Write: err, Read: err, Delete: err} }
	if err := u.manager.mayWrite(); err != nil {
		return all(err)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	bucket, err := u.open(ctx)
	if err != nil {
		return all(err)
	}
	return bucket.Probe(ctx)
}

func firstOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// failedToWrite notes that a segment could not be written, or was read back differently.
func (w *worker) failedToWrite(err error) {
	w.mu.Lock()
	if errors.Is(err, archive.ErrCorrupt) {
		w.probe.Write, w.probe.Read = nil, err
	} else {
		w.probe.Write = err
	}
	w.mu.Unlock()
	w.failed(err)
}

// wrote notes that a segment was written and read back.
func (w *worker) wrote() {
	w.mu.Lock()
	w.probe.Write, w.probe.Read = nil, nil
	w.mu.Unlock()
	w.works()
}

// expireReceipts forgets old receipts, and notes that nothing deleted their objects.
func (u *upkeep) expireReceipts(now time.Time) {
	u.mu.Lock()
	expired, index := u.receipts.expire(now), u.index
	for uid, r := range u.requests {
		if r.told && now.Sub(r.after) > time.Minute { // its subject no longer exists
			delete(u.requests, uid)
		}
	}
	u.mu.Unlock()
	if index != nil {
		u.kept(index, expired, now)
	}
}

// flushIfDue writes the index, with the results of deletions.
func (u *upkeep) flushIfDue(ctx context.Context, now time.Time) {
	if now.Sub(u.flushed) < flushEvery {
		return
	}
	u.flushed = now
	if err := u.flush(ctx); err != nil {
		log.FromContext(ctx).Info("index of the archive not written; Sunset retries", "archive", u.name, "err", err.Error())
	}
}

// flush writes the index.
func (w *worker) flush(ctx context.Context) error {
	w.mu.Lock()
	index := w.index
	w.mu.Unlock()
	if index == nil || index.Pending() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	return index.Flush(ctx, w.manager.Clock.Now())
}

// finish writes the results of the last deletions. If all of them have ended, the objects of all other receipts were not deleted.
func (w *worker) finish(ctx context.Context, ended bool) {
	w.mu.Lock()
	index, left := w.index, w.receipts
	w.receipts = newReceipts()
	w.mu.Unlock()
	if index == nil {
		return
	}
	if ended {
		for _, r := range left.by {
			w.kept(index, []*receipt{r}, w.manager.Clock.Now())
		}
	}
	if err := w.flush(ctx); err != nil {
		log.FromContext(ctx).Error(err, "index of the archive not written", "archive", w.name)
	}
}

// retain deletes some of the objects that are older than spec.retain.
func (u *upkeep) retain(ctx context.Context, s spec, now time.Time) {
	if s.retention.Retain == 0 {
		u.expired, u.refused = nil, 0
		return
	}
	if now.Sub(u.retained) >= retainEvery {
		u.retained = now
		if err := u.findExpired(ctx, s, now); err != nil {
			log.FromContext(ctx).Error(err, "archive not listed for spec.retain; Sunset retries in an hour", "archive", u.name)
			return
		}
	}
	n := min(len(u.expired), retainAtOnce)
	u.deleteExpired(ctx, s, u.expired[:n])
	u.expired = u.expired[n:]
}

func (u *upkeep) findExpired(ctx context.Context, s spec, now time.Time) (err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	bucket := current{u.worker}
	u.expired, err = s.retention.Expired(bucket.List(ctx, archive.SegmentPrefix), bucket.List(ctx, archive.IndexPrefix), now, retainMost)
	u.refused = 0
	return err
}

// deleteExpired deletes objects in their order. It stops at an error, except if the store refuses to delete an object.
func (u *upkeep) deleteExpired(ctx context.Context, s spec, names []string) {
	bucket, refused := current{u.worker}, u.refused
	for i, name := range names {
		err := within(ctx, u.slots.requests, deleteTimeout, func(ctx context.Context) error { return bucket.Delete(ctx, name) })
		switch {
		case err == nil:
			metrics.ArchiveDeletedObjects.WithLabelValues(u.name).Inc()
		case errors.Is(err, archive.ErrRefused):
			u.refused++
		default:
			log.FromContext(ctx).Error(err, "object of the archive not deleted by spec.retain; Sunset retries in an hour", "archive", u.name, "object", name)
			u.expired = slices.Clip(u.expired[:i])
			return
		}
	}
	if metrics.ArchiveRefused.WithLabelValues(u.name).Set(float64(u.refused)); u.refused != refused {
		log.FromContext(ctx).Info("the store refuses to delete objects that are older than spec.retain", "archive", u.name, "objects", u.refused)
		u.mu.Lock()
		u.probe.Delete = u.refusedDelete()
		u.mu.Unlock()
	}
}

// reads has the RetentionArchives read, and passes them to their workers.
func (m *Manager) read(ctx context.Context) {
	if m.cluster.Load() == nil {
		m.identify(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	list := &v1alpha1.RetentionArchiveList{}
	if err := m.Cache.List(ctx, list); err != nil {
		log.FromContext(ctx).V(1).Info("RetentionArchives not read", "err", err.Error())
		return
	}
	known := map[*worker]bool{}
	for i := range list.Items {
		a := &list.Items[i]
		w := m.workerOf(a)
		known[w] = true
		w.use(a)
	}
	for _, w := range m.all() {
		if !known[w] {
			w.use(nil)
		}
	}
}
