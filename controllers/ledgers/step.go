package ledgers

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// step does what is to be done now, and gives when to come again. The error says that the ledger has been taken over.
func (a *account) step(ctx context.Context) (time.Time, error) {
	err := a.prepare(ctx)
	if err == nil {
		a.look(ctx)
		err = a.settle(ctx)
	}
	if !errors.Is(err, errBuried) {
		a.setTrouble(ctx, err)
	}
	if errors.Is(err, ledger.ErrDeposed) || errors.Is(err, errBuried) {
		return time.Time{}, err
	}
	return a.next(a.office.Clock.Now()), nil
}

func (a *account) setTrouble(ctx context.Context, err error) {
	a.mu.Lock()
	changed := (err == nil) != (a.trouble == nil) || err != nil && err.Error() != a.trouble.Error()
	a.trouble = err
	a.mu.Unlock()
	if !changed {
		return
	}
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "ledger not written", "ledger", a.uid)
	}
	a.office.Changed()
}

// settle writes the ledger if that is due: what has ended, and who waits.
func (a *account) settle(ctx context.Context) error {
	draft, opened := a.draft()
	if draft == nil {
		return nil
	}
	stored, err := a.office.store(ctx, draft)
	a.mu.Lock()
	if err != nil {
		a.keeper.Lost()
		a.read = false
		for _, r := range opened { // if it was written nevertheless, the next reading shows
			r.writing = false
			a.line.push(r)
		}
		a.urgent = a.urgent || len(opened) > 0
		a.mu.Unlock()
		return err
	}
	a.keeper.Wrote(draft, stored)
	for _, r := range opened {
		a.stand(r)
	}
	a.mu.Unlock()
	ready(opened)
	a.office.Changed()
	return nil
}

// stand notes that the entry of a request is confirmed.
func (a *account) stand(r *request) {
	r.writing, r.stands, r.sent, r.aged = false, true, false, false
	a.standing++
}

// draft makes what to write now, and who is written down by it; nil when it can wait.
func (a *account) draft() (draft *ledger.Draft, opened []*request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.office.Clock.Now()
	if now.Before(a.written.Add(writePause)) {
		return nil, nil
	}
	a.sweep(now)
	waits := a.line.len > 0 && a.standing < refillBelow && (a.urgent || elapsed(now, a.aheadFrom, aheadPause)) && !now.Before(a.blocked)
	closes := elapsed(now, a.endsFrom, endsPause)
	if !waits && !closes && a.sealed() {
		return nil, nil
	}
	draft = a.keeper.Draft(now)
	if a.recorded && a.policy != nil && a.sealed() {
		opened = a.fill(draft, now)
	}
	a.endsFrom = time.Time{}
	if !draft.Changed() {
		return nil, nil
	}
	a.written = now
	return draft, opened
}

// sealed reports whether the ledger as it is has our name.
func (a *account) sealed() bool {
	stored := a.keeper.Stored()
	return stored != nil && stored.Holder == a.office.holder
}

func elapsed(now, since time.Time, pause time.Duration) bool {
	return !since.IsZero() && now.Sub(since) >= pause
}

// fill opens entries for those who wait, as far as there is room.
func (a *account) fill(draft *ledger.Draft, now time.Time) (opened []*request) {
	room := draft.Room(now, a.budget())
	a.blocked = time.Time{}
	if room == 0 && a.line.len > 0 {
		a.blocked = now.Add(limitPause)
		if free := a.keeper.FreeAt(now, a.budget()); free.After(a.blocked) {
			a.blocked = free
		}
		return nil
	}
	var again, anew []*request
	for room > 0 {
		r := a.line.pop()
		if r == nil {
			break
		}
		entry, ok := r.entryOf(a.uid)
		switch {
		case !ok:
			delete(a.requests, r.subject.UID)
			anew = append(anew, r)
		case draft.Open(entry):
			r.entry, r.writing = entry, true
			opened = append(opened, r)
			room--
		case a.keeper.Stands(entry.Target): // inherited, or another subject has the same owner
			r.entry = entry
			a.stand(r)
			anew = append(anew, r)
		default: // an earlier entry about it has to be closed first
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
	ready(anew)
	return opened
}

// sweep asks about what stands and is not removed: what is not going to be any more is withdrawn. What a lost write has
// left behind is taken up by who waits for it.
func (a *account) sweep(now time.Time) {
	if now.Sub(a.swept) < sweepEvery {
		return
	}
	a.swept = now
	byTarget := map[string]*request{}
	for _, r := range a.requests {
		if r.entry.UID != "" && !r.writing {
			byTarget[string(r.entry.UID)+r.entry.ResourceVersion] = r
		}
	}
	for _, e := range a.keeper.Unsent() {
		r := byTarget[string(e.UID)+e.ResourceVersion]
		switch {
		case r != nil && r.stands && !r.aged:
			r.aged = true
			continue
		case r != nil && r.stands:
			if wanted, ok := r.entryOf(a.uid); ok && wanted.Is(e.Target) {
				continue
			}
			a.drop(r)
		case r != nil:
			continue // in line: it finds its entry
		}
		a.keeper.Withdrawn(e.Target)
		if a.endsFrom.IsZero() {
			a.endsFrom = now
		}
	}
}

// seal takes a ledger over that was just read: it gets our name before anything is listed. One that cannot be read as a
// ledger is left to its account, which then removes nothing.
func (a *account) seal(ctx context.Context, stored *v1alpha1.RetentionLedger) error {
	for {
		if a.keeper.Read(stored) != nil {
			return nil
		}
		a.read, a.readAt = true, a.office.Clock.Now()
		draft := a.keeper.Draft(a.readAt)
		if !draft.Changed() {
			return nil
		}
		answer, err := a.office.store(ctx, draft)
		if err == nil {
			a.keeper.Wrote(draft, answer)
			return nil
		}
		a.keeper.Lost()
		switch stored, err = a.office.again(ctx, a.uid, err); {
		case apierrors.IsNotFound(err):
			a.read = false
			return nil
		case err != nil:
			return err
		}
	}
}

// finish writes how the last removals ended.
func (a *account) finish(ctx context.Context) {
	a.mu.Lock()
	a.policy, a.written = nil, time.Time{} // nobody is written down any more
	if !a.endsFrom.IsZero() {
		a.endsFrom = a.office.Clock.Now().Add(-endsPause)
	}
	read := a.read
	a.mu.Unlock()
	if !read {
		return
	}
	if err := a.settle(ctx); err != nil {
		log.FromContext(ctx).Error(err, "ledger not written", "ledger", a.uid)
	}
}
