package ledgers

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// step does the work that is due, and returns when to call it again. An error ends the worker and, unless it is errBuried,
// the process.
func (a *worker) step(ctx context.Context) (time.Time, error) {
	now := a.manager.Clock.Now()
	if again := a.rests(); now.Before(again) {
		return again, nil
	}
	err := a.prepare(ctx)
	if err == nil {
		a.resolveDoubt(ctx)
		err = a.settle(context.WithoutCancel(ctx)) // a write that has begun is not cancelled: its result must be known
	}
	if err == nil && a.isLate() {
		err = ErrLate
	}
	if errors.Is(err, ledger.ErrDeposed) || errors.Is(err, ErrLate) || errors.Is(err, errBuried) {
		return time.Time{}, err
	}
	if ctx.Err() == nil {
		a.setTrouble(ctx, err)
	}
	return a.next(a.manager.Clock.Now()), nil
}

// rests returns until when the worker does nothing after an error, even if it is nudged.
func (a *worker) rests() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.retryAt
}

// isLate reports whether the worker holds a ledger now that could not be taken over before objects were listed.
func (a *worker) isLate() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.late && a.read && a.sealed()
}

func (a *worker) setTrouble(ctx context.Context, err error) {
	a.mu.Lock()
	changed := (err == nil) != (a.trouble == nil) || err != nil && err.Error() != a.trouble.Error()
	a.trouble, a.retryAt = err, time.Time{}
	switch {
	case err == nil:
	case apierrors.IsConflict(err): // another client has changed it
		a.retryAt = a.manager.Clock.Now().Add(writePause)
	default:
		a.retryAt = a.manager.Clock.Now().Add(retryEvery)
	}
	a.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "RetentionLedger not written", "ledger", a.uid)
	}
	a.manager.Changed()
}

// settle writes the ledger if a write is due: for ended entries, and for waiting requests.
func (a *worker) settle(ctx context.Context) error {
	waits := a.waits()
	if waits && a.manager.Check(ctx) != nil {
		waits = false
		a.hold()
	}
	draft, opened := a.draft(waits)
	if draft == nil {
		return nil
	}
	stored, err := a.manager.store(ctx, draft)
	a.mu.Lock()
	if err != nil {
		a.lost(opened)
		a.mu.Unlock()
		return err
	}
	a.machine.Wrote(draft, stored)
	a.blocked = time.Time{} // entries that ended without a deletion no longer count against the limits
	now := a.manager.Clock.Now()
	for _, r := range opened {
		a.stand(r, now)
	}
	a.mu.Unlock()
	ready(opened)
	a.manager.Changed()
	return nil
}

// lost returns the requests of a draft to the queue after a failed write. If it was written nevertheless, the next read
// finds it.
func (a *worker) lost(opened []*request) {
	a.machine.Lost()
	a.read = false
	for _, r := range opened {
		r.writing = false
		a.line.push(r)
	}
	a.urgent = a.urgent || len(opened) > 0
	a.ends(a.manager.Clock.Now())
}

// ends notes that an ended entry waits to be closed.
func (a *worker) ends(now time.Time) {
	if a.endsFrom.IsZero() {
		a.endsFrom = now
		a.nudge()
	}
}

// waits reports whether a queued request may be recorded now.
func (a *worker) waits() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.manager.Clock.Now()
	return a.line.len > 0 && a.opens() && a.refills() && (a.urgent || elapsed(now, a.aheadFrom, aheadPause)) && !now.Before(a.blocked)
}

// hold stops the recording of requests for a while.
func (a *worker) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocked = a.manager.Clock.Now().Add(limitPause)
}

// draft returns the next update, with entries for queued requests if waits is true; nil if no write is due.
func (a *worker) draft(waits bool) (draft *ledger.Update, opened []*request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.manager.Clock.Now()
	if now.Before(a.written.Add(writePause)) {
		return nil, nil
	}
	a.sweep(now)
	closes := elapsed(now, a.endsFrom, endsPause)
	if !waits && !closes && a.sealed() {
		return nil, nil
	}
	draft = a.machine.Draft(now)
	if waits && a.opens() {
		opened = a.fill(draft, now)
	}
	a.endsFrom = time.Time{}
	if !draft.Changed() {
		return nil, nil
	}
	a.written = now
	return draft, opened
}

// sealed reports whether this process is the holder of the ledger as last read.
func (a *worker) sealed() bool {
	stored := a.machine.Stored()
	return stored != nil && stored.Holder == a.manager.holder
}

func elapsed(now, since time.Time, pause time.Duration) bool {
	return !since.IsZero() && now.Sub(since) >= pause
}

// fill opens entries for queued requests, as far as limits and the ledger have room.
func (a *worker) fill(draft *ledger.Update, now time.Time) (opened []*request) {
	room := draft.Room(now, a.budget())
	a.blocked, a.short = time.Time{}, room == 0 && a.line.len > 0
	if a.short {
		a.blocked = now.Add(limitPause)
		if free := a.machine.FreeAt(now, a.budget()); free.After(a.blocked) {
			a.blocked = free
		}
		return nil
	}
	var again, anew []*request
	for room > 0 {
		r := a.line.pop(draft.Admits)
		if r == nil {
			break
		}
		entry, subject, ok := r.entryOf(a.uid)
		switch {
		case !ok:
			delete(a.requests, r.subject.UID)
			anew = append(anew, r)
		case now.Before(a.stuck[entry.UID].until), a.machine.Rests(entry.Target):
			a.parked = append(a.parked, r)
		case draft.Open(entry):
			r.entry, r.subject, r.writing = entry, subject, true
			opened = append(opened, r)
			room--
		case a.machine.Stands(entry.Target): // inherited, or shared with another subject of the same owner
			r.entry, r.subject = entry, subject
			a.stand(r, now)
			anew = append(anew, r)
		default: // an earlier entry about the object must be closed first
			again = append(again, r)
		}
	}
	for _, r := range again {
		a.line.push(r)
	}
	if a.line.len == len(again) {
		a.urgent, a.aheadFrom = false, time.Time{}
		if len(again) > 0 {
			a.aheadFrom = now
		}
	}
	if len(opened) == 0 && a.line.len > len(again) { // the others belong to namespaces that were not admitted
		a.blocked = now.Add(limitPause)
	}
	ready(anew)
	return opened
}

// takeUp removes and returns the queued requests whose target has a confirmed entry, as a read of the ledger has shown:
// they need no room.
func (a *worker) takeUp(now time.Time) (found []*request) {
	a.line.retain(func(r *request) bool {
		e, s, ok := r.entryOf(a.uid)
		if !ok || !a.machine.Stands(e.Target) {
			return true
		}
		r.entry, r.subject = e, s
		a.stand(r, now)
		found = append(found, r)
		return false
	})
	return found
}

// sweep checks the recorded deletions that were not sent. It withdraws those that are no longer to be deleted, and slow
// ones that keep others from being recorded. A request that waits takes over the entry that a lost write left for it.
func (a *worker) sweep(now time.Time) {
	if now.Sub(a.swept) < sweepEvery || !a.sealed() {
		return
	}
	a.swept = now
	wanted := map[policy.Target]bool{}
	for _, r := range a.requests {
		switch {
		case r.writing, r.entry.UID == "":
			continue
		case r.stands && !a.machine.Stands(r.entry.Target): // the entry has ended
			a.drop(r)
			continue
		case r.stands && r.sent:
		case !r.stillWants(a.uid), r.slow && a.short:
			if r.stands { // a queued request stays in the queue
				a.drop(r)
			}
			continue
		case r.stands && !r.slow && now.Sub(r.since) >= slowAfter:
			r.slow = true
			a.slow++
		}
		wanted[r.entry.Target] = true
	}
	for _, e := range a.machine.Unsent() {
		if !wanted[e.Target] {
			a.machine.Withdrawn(e.Target)
			a.ends(now)
		}
	}
}

// seal takes over a ledger that was just read: it writes this process as the holder, before objects are listed. If the
// ledger cannot be read or written, its worker deletes nothing.
func (a *worker) seal(ctx context.Context, stored *v1alpha1.RetentionLedger) error {
	a.late = true
	for {
		if a.machine.Read(stored) != nil {
			return nil
		}
		a.read, a.readAt = true, a.manager.Clock.Now()
		draft := a.machine.Draft(a.readAt)
		if !draft.Changed() {
			a.late = false
			return nil
		}
		answer, err := a.manager.store(ctx, draft)
		if err == nil {
			a.machine.Wrote(draft, answer)
			a.late = false
			return nil
		}
		a.machine.Lost()
		a.read = false
		switch stored, err = a.manager.again(ctx, a.uid, err); {
		case apierrors.IsNotFound(err):
			a.late = false
			return nil
		case err != nil:
			return err
		}
	}
}

// finish writes the results of the last deletions, and withdraws the entries that were not sent.
func (a *worker) finish(ctx context.Context) {
	a.mu.Lock()
	a.policy, a.written = nil, time.Time{} // from now on nothing is recorded
	for _, e := range a.machine.Unsent() {
		a.machine.Withdrawn(e.Target)
	}
	a.endsFrom = a.manager.Clock.Now().Add(-endsPause)
	read := a.read
	a.mu.Unlock()
	if !read {
		return
	}
	if err := a.settle(ctx); err != nil {
		log.FromContext(ctx).Error(err, "RetentionLedger not written", "ledger", a.uid)
	}
}
