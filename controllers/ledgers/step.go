// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// errPolicyDeleted ends the worker of a policy that no longer exists.
var errPolicyDeleted = errors.New("the policy and its RetentionLedger were deleted")

// step does the work that is due, and returns when to call it again. An error ends the worker and, unless it is errPolicyDeleted,
// the process.
func (w *worker) step(ctx context.Context) (time.Time, error) {
	now := w.manager.Clock.Now()
	if again := w.pausedUntil(); now.Before(again) {
		return again, nil
	}
	err := w.prepare(ctx)
	if err == nil {
		w.resolveDoubt(ctx)
		err = w.writeDue(context.WithoutCancel(ctx)) // a write that has begun is not cancelled: its result must be known
	}
	if err == nil && w.isLate() {
		err = ErrLate
	}
	if errors.Is(err, ledger.ErrDeposed) || errors.Is(err, ErrLate) || errors.Is(err, errPolicyDeleted) {
		return time.Time{}, err
	}
	if ctx.Err() == nil {
		w.setWriteErr(ctx, err)
	}
	return w.next(w.manager.Clock.Now()), nil
}

// pausedUntil returns until when the worker does nothing after an error, even if it is woken.
func (w *worker) pausedUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.retryAt
}

// isLate reports whether the worker holds a ledger now that could not be taken over before objects were listed.
func (w *worker) isLate() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late && w.read && w.sealed()
}

func (w *worker) setWriteErr(ctx context.Context, err error) {
	w.mu.Lock()
	changed := (err == nil) != (w.writeErr == nil) || err != nil && err.Error() != w.writeErr.Error()
	w.writeErr, w.retryAt = err, time.Time{}
	switch {
	case err == nil:
	case apierrors.IsConflict(err): // another client has changed it
		w.retryAt = w.manager.Clock.Now().Add(writePause)
	default:
		w.retryAt = w.manager.Clock.Now().Add(retryEvery)
	}
	w.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "RetentionLedger not written", "ledger", w.uid)
	}
	w.manager.Changed()
}

// writeDue writes the ledger if a write is due: for ended entries, and for waiting requests.
func (w *worker) writeDue(ctx context.Context) error {
	waits := w.waits()
	if waits && w.manager.Check(ctx) != nil {
		waits = false
		w.hold()
	}
	update, opened := w.nextUpdate(waits)
	if update == nil {
		return nil
	}
	stored, err := w.manager.store(ctx, update)
	w.mu.Lock()
	if err != nil {
		w.lost(opened)
		w.mu.Unlock()
		return err
	}
	w.machine.Wrote(update, stored)
	w.raising = ""          // a write that was still on its way conflicts with this one
	w.blocked = time.Time{} // entries that ended without a deletion no longer count against the limits
	now := w.manager.Clock.Now()
	opened = slices.DeleteFunc(opened, func(r *request) bool {
		putOff := r.recorded.putOff
		if w.confirm(r, now); putOff {
			w.withdraw(r)
		}
		return putOff
	})
	w.mu.Unlock()
	ready(opened)
	w.manager.Changed()
	return nil
}

// lost returns the requests of an update to the queue after a failed write. If it was written nevertheless, the next read
// finds it.
func (w *worker) lost(opened []*request) {
	w.machine.Lost()
	w.read = false
	for _, r := range opened {
		if r.recorded.putOff {
			delete(w.requests, r.uid)
			continue
		}
		r.recorded.writing = false
		w.queue.push(r)
	}
	w.urgent = w.urgent || len(opened) > 0
	w.ends(w.manager.Clock.Now())
}

// ends notes that an ended entry waits to be closed.
func (w *worker) ends(now time.Time) {
	if w.endsFrom.IsZero() {
		w.endsFrom = now
		w.wake.Send()
	}
}

// waits reports whether a queued request may be recorded now.
func (w *worker) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.manager.Clock.Now()
	return w.queue.len > 0 && w.opens() && w.refills() && (w.urgent || elapsed(now, w.aheadFrom, aheadPause)) && !now.Before(w.blocked)
}

// hold stops the recording of requests for a while.
func (w *worker) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = w.manager.Clock.Now().Add(limitPause)
}

// nextUpdate returns the next update, with entries for queued requests if waits is true; nil if no write is due.
func (w *worker) nextUpdate(waits bool) (update *ledger.Update, opened []*request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.manager.Clock.Now()
	if now.Before(w.written.Add(writePause)) {
		return nil, nil
	}
	w.sweep(now)
	closes := elapsed(now, w.endsFrom, endsPause)
	if !waits && !closes && w.sealed() {
		return nil, nil
	}
	update = w.machine.NewUpdate(now)
	if waits && w.opens() {
		opened = w.fill(update, now)
	}
	w.endsFrom = time.Time{}
	if !update.Changed() {
		return nil, nil
	}
	w.written = now
	return update, opened
}

// sealed reports whether this process is the holder of the ledger as last read.
func (w *worker) sealed() bool {
	stored := w.machine.Stored()
	return stored != nil && stored.Holder == w.manager.holder
}

func elapsed(now, since time.Time, pause time.Duration) bool {
	return !since.IsZero() && now.Sub(since) >= pause
}

// fill opens entries for queued requests, as far as limits and the ledger have room.
func (w *worker) fill(update *ledger.Update, now time.Time) (opened []*request) {
	room := update.Room(now, w.budget())
	w.blocked, w.short = time.Time{}, room == 0 && w.queue.len > 0
	if w.short {
		w.blocked = now.Add(limitPause)
		if free := w.machine.FreeAt(now, w.budget()); free.After(w.blocked) {
			w.blocked = free
		}
		return nil
	}
	var again, changed []*request
	for room > 0 {
		r := w.queue.pop(update.Admits)
		if r == nil {
			break
		}
		entry, subject, ok := r.entryOf(w.uid)
		switch {
		case !ok:
			delete(w.requests, r.uid)
			changed = append(changed, r)
		case now.Before(w.stuck[entry.UID].until), w.machine.HasStopped(entry.Target):
			w.parked = append(w.parked, r)
		case update.Open(entry):
			r.recorded = &recorded{subject: subject, entry: entry, writing: true}
			opened = append(opened, r)
			room--
		case w.machine.IsOpen(entry.Target): // inherited, or shared with another subject of the same owner
			r.recorded = &recorded{subject: subject, entry: entry}
			w.confirm(r, now)
			changed = append(changed, r)
		default: // an earlier entry about the object must be closed first
			again = append(again, r)
		}
	}
	for _, r := range again {
		w.queue.push(r)
	}
	if w.queue.len == len(again) {
		w.urgent, w.aheadFrom = false, time.Time{}
		if len(again) > 0 {
			w.aheadFrom = now
		}
	}
	if len(opened) == 0 && w.queue.len > len(again) { // the others belong to namespaces that were not admitted
		w.blocked = now.Add(limitPause)
	}
	ready(changed)
	return opened
}

// takeConfirmed removes and returns the queued requests whose target has a confirmed entry, as a read of the ledger has shown:
// they need no room.
func (w *worker) takeConfirmed(now time.Time) (found []*request) {
	w.queue.retain(func(r *request) bool {
		e, s, ok := r.entryOf(w.uid)
		if !ok || !w.machine.IsOpen(e.Target) {
			return true
		}
		r.recorded = &recorded{subject: s, entry: e}
		w.confirm(r, now)
		found = append(found, r)
		return false
	})
	return found
}

// sweep checks the recorded deletions that were not sent. It withdraws those that are no longer to be deleted, and slow
// ones that keep others from being recorded. A request that waits takes over the entry that a lost write left for it.
func (w *worker) sweep(now time.Time) {
	if now.Sub(w.swept) < sweepEvery || !w.sealed() {
		return
	}
	w.swept = now
	wanted := map[policy.Target]bool{}
	for _, r := range w.requests {
		is := r.recorded
		switch {
		case is == nil, is.writing:
			continue
		case is.confirmed && !w.machine.IsOpen(is.entry.Target): // the entry has ended
			w.drop(r)
			continue
		case is.confirmed && is.sent:
		case !r.stillWants(w.uid), is.slow && w.short:
			if is.confirmed { // a queued request stays in the queue
				w.drop(r)
			}
			continue
		case is.confirmed && !is.slow && now.Sub(is.since) >= slowAfter:
			is.slow = true
			w.slow++
		}
		wanted[is.entry.Target] = true
	}
	for _, e := range w.machine.Unsent() {
		if !wanted[e.Target] {
			w.machine.Withdrawn(e.Target)
			w.ends(now)
		}
	}
}

// seal takes over a ledger that was just read: it writes this process as the holder, before objects are listed. If the
// ledger cannot be read or written, its worker deletes nothing.
func (w *worker) seal(ctx context.Context, stored *v1alpha1.RetentionLedger) error {
	w.late = true
	for {
		if w.machine.Read(stored) != nil {
			return nil
		}
		w.read, w.readAt = true, w.manager.Clock.Now()
		update := w.machine.NewUpdate(w.readAt)
		if !update.Changed() {
			w.late = false
			return nil
		}
		answer, err := w.manager.store(ctx, update)
		if err == nil {
			w.machine.Wrote(update, answer)
			w.late = false
			return nil
		}
		w.machine.Lost()
		w.read = false
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		switch stored, err = w.manager.get(ctx, w.uid); {
		case apierrors.IsNotFound(err):
			w.late = false
			return nil
		case err != nil:
			return err
		}
	}
}

// finish writes the results of the last deletions, and withdraws the entries that were not sent.
func (w *worker) finish(ctx context.Context) {
	w.mu.Lock()
	w.policy, w.written = nil, time.Time{} // from now on nothing is recorded
	for _, e := range w.machine.Unsent() {
		w.machine.Withdrawn(e.Target)
	}
	w.endsFrom = w.manager.Clock.Now().Add(-endsPause)
	read := w.read
	w.mu.Unlock()
	if !read {
		return
	}
	if err := w.writeDue(ctx); err != nil {
		log.FromContext(ctx).Error(err, "RetentionLedger not written", "ledger", w.uid)
	}
}
