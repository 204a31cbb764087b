// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const (
	writePause = 100 * time.Millisecond // between two writes of one ledger
	// refillBelow is the number of recorded deletions not yet sent at which no others are recorded, so that one write
	// serves many.
	refillBelow = 150
	// refillArchived is the same if a rule of the policy archives. Its deletions are recorded earlier, and count later.
	refillArchived = 300
	aheadPause     = 200 * time.Millisecond // before subjects that are not due yet are recorded, so that others join them
	endsPause      = time.Second            // before entries that have ended are closed, for the same reason
	sweepEvery     = 2 * time.Second        // between two checks whether recorded subjects are still to be deleted
	retryEvery     = 2 * time.Second        // after a failed request
	statusPause    = time.Second            // between two reads of a policy while its status is about an earlier spec
	limitPause     = time.Second            // minimum time before limits are checked again
	pruneAt        = 2048                   // length of the queue at which subjects that no longer need to wait are dropped
	pruneMost      = 10_000                 // subjects that are looked at for that
	// slowAfter is how long after its entry was confirmed a deletion that was not sent makes room for others. It is longer
	// than a worker may have to wait for its turn.
	slowAfter = 30 * time.Second
	// Pause before another entry about a stuck object; it doubles each time.
	stuckFirst = 15 * time.Minute
	stuckMost  = 24 * time.Hour
)

// worker keeps the ledger of one policy, and the queue of subjects that wait to be recorded. Only one goroutine writes the
// ledger.
type worker struct {
	manager *Manager
	uid     types.UID
	wake    wake.Signal

	mu       lockorder.Mutex[lockorder.Ledger]
	machine  *ledger.Machine
	policy   *policy.Policy // nil while no policy of the snapshot has this ledger
	archives bool           // a rule of the policy archives
	known    bool           // policy is set
	orphaned bool           // the policy itself is not in the snapshot
	late     bool           // the ledger existed when this process became the leader, and could not be taken over
	read     bool           // machine has read the stored ledger
	caughtUp bool           // the ledger exists, and has what the status had
	recorded bool           // the policy's status says that it exists
	none     bool           // the ledger does not exist, and is not needed yet
	lapsed   bool           // the policy kept no ledger for a while, so that its status has deletions that the ledger lacks
	rebases  int            // how often the counts have changed otherwise than by entries that ended
	raising  string         // the resourceVersion of the ledger for which raised counts were sent; empty for none
	writeErr error          // why the ledger cannot be written; nil if it can
	retryAt  time.Time      // when to retry after an error

	queue        queue
	parked       []*request             // requeued once a minute: their objects are stuck, or an open entry rests
	stuck        map[types.UID]stuck    // by the object to delete: a subject, or its owner
	requests     map[types.UID]*request // by subject
	unsent       int                    // requests that are recorded and not sent
	slow         int                    // slow requests among the unsent ones
	short        bool                   // limits had no room for all queued requests
	urgent       bool                   // a queued subject is due
	aheadFrom    time.Time              // when the first of the queued subjects that are not due yet arrived; zero for none
	endsFrom     time.Time              // when the first ended entry that is not closed yet ended; zero for none
	blocked      time.Time              // until when limits permit nothing; zero if they permit deletions
	written      time.Time
	readAt       time.Time
	swept        time.Time
	forgot       time.Time
	readErr      error     // why the objects of doubtful entries cannot be read; nil if they can
	observedAt   time.Time // when the objects of doubtful entries were last read
	observePause time.Duration
	observeFrom  int
	prune        int
}

// stuck is an object that DELETEs without a definite answer have neither deleted nor changed. Its last entry expired.
type stuck struct {
	until time.Time // earliest time of the next entry about it
	pause time.Duration
}

func newWorker(m *Manager, uid types.UID) *worker {
	return &worker{
		manager: m, uid: uid, machine: ledger.New(m.holder), prune: pruneAt,
		requests: map[types.UID]*request{}, stuck: map[types.UID]stuck{}, observePause: observeFirst,
	}
}

// use sets the policy as it applies now; nil if it no longer keeps a ledger, or no longer exists.
func (w *worker) use(p *policy.Policy, orphaned bool) {
	w.mu.Lock()
	same := w.known && w.policy == p && w.orphaned == orphaned
	w.policy, w.known, w.orphaned, w.blocked = p, true, orphaned, time.Time{}
	w.archives = p != nil && slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool { return r.Archive != nil })
	w.none = w.none && p != nil && p.Mode != v1alpha1.Enforce
	var left []*request
	if p == nil { // their subjects are evaluated again, without a ledger
		w.caughtUp, w.recorded, w.lapsed = false, false, true // if it keeps one again, the ledger must catch up first
		w.unpark()
		w.queue.retain(func(r *request) bool { left = append(left, r); delete(w.requests, r.uid); return false })
		w.aheadFrom, w.urgent = time.Time{}, false
	}
	if !same {
		w.retryAt = time.Time{}
	}
	w.mu.Unlock()
	ready(left)
	if !same {
		w.wake.Send()
	}
}

// confirmed returns the request for an intent if its entry is confirmed; nil otherwise. The caller holds mu.
func (w *worker) confirmed(i policy.Intent) *request {
	r := w.requests[i.Subject.UID]
	if r == nil || !r.isConfirmed() || r.recorded.subject != subjectOf(i) {
		return nil
	}
	return r
}

// targetOf returns the target that is recorded for an intent.
func (w *worker) targetOf(i policy.Intent) (policy.Target, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.confirmed(i)
	if r == nil {
		return policy.Target{}, false
	}
	if !w.machine.IsOpen(r.recorded.entry.Target) { // its entry has ended, possibly for another subject with the same owner
		w.drop(r)
		return policy.Target{}, false
	}
	return r.recorded.entry.Target, true
}

// awaits reports whether the subject of an intent is queued, or its entry is being written. Then c takes the place of its candidate,
// which may belong to a pipeline that has ended. A subject that was put off does not wait: its entry ends without a call of Ready.
func (w *worker) awaits(i policy.Intent, c retention.Candidate) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.requests[i.Subject.UID]
	if r == nil || r.isConfirmed() || r.isWriting() && r.recorded.putOff {
		return false
	}
	r.candidate = c
	return true
}

// reserve adds a subject to the queue, unless it is queued. If the target already has a confirmed entry, the subject shares
// it, and needs no room. The entry of an older version of the subject is withdrawn.
func (w *worker) reserve(i policy.Intent, t policy.Target, c retention.Candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.manager.Clock.Now()
	r := w.requests[i.Subject.UID]
	switch {
	case r == nil:
	case r.isWriting():
		r.candidate, r.recorded.putOff = c, false
		return // it is evaluated again after the write
	case r.isConfirmed():
		w.machine.Withdrawn(r.recorded.entry.Target)
		w.drop(r)
		r = nil
	}
	inherited := r == nil && w.machine.IsOpen(t)
	if r == nil {
		r = &request{namespace: i.Subject.Namespace, uid: i.Subject.UID}
		w.requests[r.uid] = r
		if !inherited {
			w.queue.push(r)
			w.blocked = w.unblocked()
		}
	}
	r.candidate, r.owner = c, nil
	if t.UID != i.Subject.UID {
		r.owner = &owner{Target: t, of: subjectOf(i)}
	}
	switch {
	case inherited:
		r.recorded = &recorded{subject: subjectOf(i), entry: ledger.Entry{Target: t, Rule: i.Rule.ID.Rule, Outcome: i.Outcome}}
		w.confirm(r, now)
		c.Ready()
	case !i.Due.After(now):
		w.urgent = true
		w.wake.Send()
	case w.aheadFrom.IsZero():
		w.aheadFrom = now
		w.wake.Send()
	}
	if w.queue.len >= w.prune {
		w.pruneQueue()
	}
}

// unpark returns the parked requests to the queue.
func (w *worker) unpark() {
	for _, r := range w.parked {
		w.queue.push(r)
	}
	w.urgent = w.urgent || len(w.parked) > 0
	w.parked = nil
}

// unblocked returns until when limits permit nothing. A new request does not wait because other namespaces were not
// admitted.
func (w *worker) unblocked() time.Time {
	if w.short {
		return w.blocked
	}
	return time.Time{}
}

// confirm marks the entry of a request as confirmed.
func (w *worker) confirm(r *request, now time.Time) {
	*r.recorded = recorded{subject: r.recorded.subject, entry: r.recorded.entry, confirmed: true, since: now}
	w.unsent++
}

// uncount updates the counters for a request whose entry ended, or that is being sent.
func (w *worker) uncount(r *request) {
	if !r.isConfirmed() || r.recorded.sent {
		return
	}
	w.unsent--
	if r.recorded.slow {
		w.slow--
	}
}

// drop forgets a request whose entry was confirmed.
func (w *worker) drop(r *request) {
	w.uncount(r)
	delete(w.requests, r.uid)
}

// markSent reports whether a recorded deletion may be sent now. It may not if limits were lowered since then, or if the
// ledger with the entry no longer exists: then no ledger would count the deletion.
func (w *worker) markSent(i policy.Intent, t policy.Target) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.confirmed(i)
	if r == nil || !r.recorded.entry.Is(t) {
		return false
	}
	if errors.Is(w.writeErr, ErrMissing) || apierrors.IsNotFound(w.writeErr) {
		w.withdraw(r)
		return false
	}
	if budget := w.budget(); budget != nil && w.machine.Charged(w.manager.Clock.Now(), budget) > budget.Max {
		w.withdraw(r)
		return false
	}
	// A process that was stopped after preflight may no longer lead.
	if w.manager.Leadership.Check() != nil || !w.machine.MarkSent(t) {
		return false
	}
	full := !w.refills()
	w.uncount(r)
	r.recorded.sent = true
	if full && w.queue.len > 0 && w.refills() {
		w.wake.Send()
	}
	return true
}

// withdraw ends the entry of a request that is not being sent.
func (w *worker) withdraw(r *request) {
	w.machine.Withdrawn(r.recorded.entry.Target)
	w.drop(r)
	w.ends(w.manager.Clock.Now())
}

// putOff puts a subject off: its entry makes room for others. It gets no other entry until the next call of reserve.
func (w *worker) putOff(i policy.Intent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := w.requests[i.Subject.UID]; {
	case r == nil:
	case r.isConfirmed():
		w.withdraw(r)
	case r.isWriting():
		r.recorded.putOff = true
	case w.queue.remove(r):
		delete(w.requests, r.uid)
	}
}

func (w *worker) answered(i policy.Intent, t policy.Target, answer ledger.DeleteResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machine.Answered(t, answer)
	// The answer can come after the next request of the subject: an archive writes its result first.
	if r := w.requests[i.Subject.UID]; r != nil && r.isConfirmed() && r.recorded.entry.Is(t) && !w.machine.IsOpen(t) {
		w.drop(r)
	}
	w.ends(w.manager.Clock.Now())
	if w.short && w.budget() == nil { // only ledger.MaxOpen left no room
		w.blocked = time.Time{}
	}
	if w.queue.len > 0 && w.refills() {
		w.wake.Send()
	}
}

// refills reports whether few enough recorded deletions are not sent yet, so that others can be recorded.
func (w *worker) refills() bool {
	if w.archives {
		return w.unsent-w.slow < refillArchived
	}
	return w.unsent-w.slow < refillBelow
}

// opens reports whether the worker may record deletions at all.
func (w *worker) opens() bool {
	return w.policy != nil && w.caughtUp && w.recorded && w.sealed() && (w.policy.Limits == nil || w.policy.Limits.Window > 0)
}

// record notes that the policy's status names the ledger.
func (w *worker) record() {
	w.mu.Lock()
	known := w.recorded
	w.recorded, w.blocked = true, time.Time{}
	w.mu.Unlock()
	if !known {
		w.wake.Send()
	}
}

func ready(all []*request) {
	for _, r := range all {
		r.candidate.Ready()
	}
}
