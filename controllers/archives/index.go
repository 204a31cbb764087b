// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/singleflight"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	flushEvery   = 5 * time.Second // the ledger counts deletions after their results are written
	flushAt      = 100             // deletions that wait for that; a ledger has at most ledger.MaxOpen that it does not count yet
	flushTimeout = time.Minute
	// indexMost is how many records and results may wait for the index to be written, before no more objects are recorded: their lines are
	// in memory.
	indexMost = 50_000
)

// index is the index of an archive. The mu of the worker guards it.
type index struct {
	*archive.Indexer
	pending int                    // records and results that may not be written
	waiting []func()               // to call after the next write of the index
	err     error                  // why the last attempt to write failed; nil if it did not
	written bool                   // the store has taken an object of the index
	settled map[policy.Target]bool // whether a target is gone, as an unwritten result says
	flush   singleflight.Group     // writes for which the ledger waits
	saved   map[policy.Target]bool // the same of written results, until the ledger has asked; others are written again
}

// savedMost limits saved: the ledger does not ask about all.
const savedMost = 10_000

// tried notes whether the store has taken an object with the results about some targets.
func (x *index) tried(settled map[policy.Target]bool, err error) {
	if err != nil {
		x.err = fmt.Errorf("write the index: %w", err)
		if settled != nil {
			maps.Copy(settled, x.settled) // newer ones win
			x.settled = settled
		}
		return
	}
	if x.err, x.written = nil, true; x.saved == nil || len(x.saved) > savedMost {
		x.saved = map[policy.Target]bool{}
	}
	maps.Copy(x.saved, settled)
}

func (x *index) add(s archive.Segment) {
	x.Add(s)
	x.pending += len(s.Meta)
}

func (x *index) finish(r *receipt, result archive.Result, at time.Time) {
	if result != "" {
		x.Finish(r.segment, r.line, result, at)
		x.pending++
	}
}

// settle adds the result of all records of a version. While the store fails, the ledger says it again and again.
func (x *index) settle(t policy.Target, gone bool, at time.Time) {
	if was, known := x.settled[t]; known && was == gone {
		return
	}
	if x.settled == nil {
		x.settled = map[policy.Target]bool{}
	}
	x.settled[t] = gone
	result := archive.Kept
	if gone {
		result = archive.Gone
	}
	x.FinishVersion(t.UID, t.ResourceVersion, result, at)
	x.pending++
}

// kept adds that nothing deleted the objects of some receipts, except those of which that is not known.
func (x *index) kept(all []*receipt, now time.Time) {
	for _, r := range all {
		if !r.unsure && !r.inFlight(now) {
			x.finish(r, archive.Kept, now)
		}
	}
}

// backlog returns why nothing may be recorded until the index is written; nil if it may.
func (x *index) backlog() error {
	switch {
	case x.err == nil || x.written && x.pending < indexMost:
		return nil
	case !x.written:
		return x.err
	}
	return fmt.Errorf("%d records and results wait for the index: %w", x.pending, x.err)
}

// flushes writes the index now and then until ctx ends, and at once if many deletions wait for it.
func (w *worker) flushes(ctx context.Context) {
	for w.results.Wait(ctx, w.manager.Clock, flushEvery) {
		if err := w.flush(ctx); err != nil {
			log.FromContext(ctx).Info("index of the archive not written; Sunset retries", "archive", w.name, "err", err.Error())
		}
	}
}

// Written calls then when a RetentionArchive has all results that it got so far in its index, so that nothing counts a deletion whose
// record may lose its result. It does not block.
func (m *Manager) Written(name string, then func()) {
	w, _ := m.named(name)
	if w == nil { // the RetentionArchive no longer exists
		then()
		return
	}
	w.whenWritten(then)
}

// Gone takes from the ledger that a target no longer exists, and that an earlier request to delete it may be the cause.
func (m *Manager) Gone(name string, t policy.Target) {
	w, _ := m.named(name)
	if w == nil { // the RetentionArchive no longer exists
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index.settle(t, true, m.Clock.Now())
}

// Settled takes what the ledger has read of targets whose DELETE had no definite answer, or was sent by an earlier leader, when that
// DELETE can no longer change them: whether each is gone. If it returns nil, the RetentionArchive has the results, or no longer exists. Others
// that have a receipt of a target get them with their next write. An empty name is that of a rule that does not archive: it may have archived
// when the DELETE was sent.
func (m *Manager) Settled(ctx context.Context, name string, targets map[policy.Target]bool) error {
	w, unread := m.named(name)
	for _, other := range m.all() {
		if other != w {
			other.settleOwn(targets)
		}
	}
	switch {
	case name == "":
		return nil
	case w == nil:
		return unread
	}
	if err := w.settled(ctx, targets); err != nil {
		return fmt.Errorf("RetentionArchive %q: %w", name, err)
	}
	return nil
}

// whenWritten calls then when the index has all results so far.
func (w *worker) whenWritten(then func()) {
	w.mu.Lock()
	waits := w.index.pending > 0 && !w.closed
	if waits {
		if w.index.waiting = append(w.index.waiting, then); len(w.index.waiting)%flushAt == 0 {
			w.results.Send()
		}
	}
	w.mu.Unlock()
	if !waits {
		then()
	}
}

// settleOwn is settled for targets that have a receipt, by a rule that has another archive since. It does not write the index.
func (w *worker) settleOwn(targets map[policy.Target]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t, gone := range targets {
		if w.receipts.find(t) != nil {
			w.receipts.settle(t, gone)
			w.index.settle(t, gone, w.manager.Clock.Now())
		}
	}
}

// settled takes what has become of targets whose DELETE had no definite answer: whether each is gone. If it returns nil, the index has
// it.
func (w *worker) settled(ctx context.Context, targets map[policy.Target]bool) error {
	w.mu.Lock()
	if w.spec.builder == nil { // it was never valid, so that it is not known how to encrypt
		defer w.mu.Unlock()
		return w.invalid
	}
	saved := true
	for t, gone := range targets {
		w.receipts.settle(t, gone)
		if was, known := w.index.saved[t]; !known || was != gone {
			w.index.settle(t, gone, w.manager.Clock.Now())
			saved = false
		}
	}
	w.mu.Unlock()
	if !saved {
		if err := w.flushUntil(ctx); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for t, gone := range targets {
		if was, known := w.index.saved[t]; !known || was != gone {
			return errUnwritten
		}
	}
	maps.DeleteFunc(w.index.saved, func(t policy.Target, _ bool) bool { _, asked := targets[t]; return asked })
	return nil
}

var errUnwritten = errors.New("the index is still being written")

// flushUntil writes the index, and waits for that until ctx ends. A slow store can take longer: then the next call finds the results.
// If another call waits for that already, this one waits too, although its results may come with the next write.
func (w *worker) flushUntil(ctx context.Context) error {
	written := w.index.flush.DoChan("", func() (any, error) { return nil, w.flush(context.WithoutCancel(ctx)) })
	select {
	case result := <-written:
		return result.Err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errUnwritten, ctx.Err())
	}
}

// flush writes the index.
func (w *worker) flush(ctx context.Context) error {
	if err := w.flushing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer w.flushing.Release(1)
	w.mu.Lock()
	if w.index.pending == 0 {
		w.mu.Unlock()
		return nil
	}
	pending, waiting, settled := w.index.pending, len(w.index.waiting), w.index.settled
	w.index.settled = nil
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	err := w.index.Flush(ctx, w.manager.Clock.Now())
	w.mu.Lock()
	var written []func()
	if w.index.tried(settled, err); err == nil {
		w.index.pending -= pending
		waiting = min(waiting, len(w.index.waiting)) // leave may have called them
		written, w.index.waiting = w.index.waiting[:waiting:waiting], w.index.waiting[waiting:]
		w.wake.Send()
	}
	w.mu.Unlock()
	callAll(written)
	return err
}

func callAll(all []func()) {
	for _, f := range all {
		f()
	}
}
