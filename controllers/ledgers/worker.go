package ledgers

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
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
	aheadPause  = 200 * time.Millisecond // before subjects that are not due yet are recorded, so that others join them
	endsPause   = time.Second            // before entries that have ended are closed, for the same reason
	sweepEvery  = 2 * time.Second        // between two checks whether recorded subjects are still to be deleted
	retryEvery  = 2 * time.Second        // after a failed request
	limitPause  = time.Second            // minimum time before limits are checked again
	pruneAt     = 2048                   // length of the queue at which subjects that no longer need to wait are dropped
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
	wake    chan struct{}

	mu       lockorder.Mutex[lockorder.Ledger]
	machine  *ledger.Machine
	policy   *policy.Policy // nil while no policy of the snapshot has this ledger
	orphaned bool           // the policy itself is not in the snapshot
	late     bool           // the ledger existed when this process became the leader, and could not be taken over
	read     bool           // machine has read the stored ledger
	checked  bool           // the worker knows whether the ledger must exist
	recorded bool           // the policy's status says that it exists
	none     bool           // the ledger does not exist, and is not needed yet
	trouble  error          // why the ledger cannot be written; nil if it can
	retryAt  time.Time      // when to retry after an error

	line      queue
	parked    []*request             // requeued once a minute: their objects are stuck, or an open entry rests
	stuck     map[types.UID]stuck    // by the object to delete: a subject, or its owner
	requests  map[types.UID]*request // by subject
	standing  int                    // requests that are recorded and not sent
	slow      int                    // slow requests among the standing ones
	short     bool                   // limits had no room for all queued requests
	urgent    bool                   // a queued subject is due
	aheadFrom time.Time              // when the first of the queued subjects that are not due yet arrived; zero for none
	endsFrom  time.Time              // when the first ended entry that is not closed yet ended; zero for none
	blocked   time.Time              // until when limits permit nothing; zero if they permit deletions
	written   time.Time
	readAt    time.Time
	swept     time.Time
	forgot    time.Time
	unread    error     // why the objects of doubtful entries cannot be read; nil if they can
	looked    time.Time // when the objects of doubtful entries were last read
	lookAgain time.Duration
	lookFrom  int
	prune     int
}

// stuck is an object that DELETEs without a definite answer have neither deleted nor changed. Its last entry expired.
type stuck struct {
	until time.Time // earliest time of the next entry about it
	pause time.Duration
}

func newWorker(o *Manager, uid types.UID) *worker {
	return &worker{
		manager: o, uid: uid, machine: ledger.New(o.holder), wake: make(chan struct{}, 1), prune: pruneAt,
		requests: map[types.UID]*request{}, stuck: map[types.UID]stuck{}, lookAgain: lookFirst,
	}
}

// use sets the policy as it applies now; nil if it no longer keeps a ledger, or no longer exists.
func (a *worker) use(p *policy.Policy, orphaned bool) {
	a.mu.Lock()
	same := a.policy == p && a.orphaned == orphaned
	a.policy, a.orphaned, a.blocked = p, orphaned, time.Time{}
	a.none = a.none && p != nil && p.Mode != v1alpha1.Enforce
	var left []*request
	if p == nil { // their subjects are evaluated again, without a ledger
		a.checked, a.recorded = false, false // if it keeps one again, the ledger must catch up first
		a.unpark()
		a.line.retain(func(r *request) bool { left = append(left, r); delete(a.requests, r.subject.UID); return false })
		a.aheadFrom, a.urgent = time.Time{}, false
	}
	if !same {
		a.retryAt = time.Time{}
	}
	a.mu.Unlock()
	ready(left)
	if !same {
		a.nudge()
	}
}

func (a *worker) nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// targetOf returns the target that is recorded for an intent.
func (a *worker) targetOf(i policy.Intent) (policy.Target, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.requests[i.Subject.UID]
	if r == nil || !r.stands || r.subject != subjectOf(i) {
		return policy.Target{}, false
	}
	if !a.machine.Stands(r.entry.Target) { // its entry has ended, possibly for another subject with the same owner
		a.drop(r)
		return policy.Target{}, false
	}
	return r.entry.Target, true
}

// write adds a subject to the queue, unless it is queued. If the target already has a confirmed entry, the subject shares
// it, and needs no room. The entry of an older version of the subject is withdrawn.
func (a *worker) write(i policy.Intent, t policy.Target, c retention.Candidate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.manager.Clock.Now()
	r := a.requests[i.Subject.UID]
	switch {
	case r == nil:
	case r.writing:
		return // it is evaluated again after the write
	case r.stands:
		a.machine.Withdrawn(r.entry.Target)
		a.drop(r)
		r = nil
	}
	inherited := r == nil && a.machine.Stands(t)
	if r == nil {
		r = &request{subject: subjectOf(i)}
		a.requests[i.Subject.UID] = r
		if !inherited {
			a.line.push(r)
			a.blocked = a.unblocked()
		}
	}
	r.candidate, r.subject, r.owner = c, subjectOf(i), nil
	if t.UID != i.Subject.UID {
		r.owner = &t
	}
	switch {
	case inherited:
		r.entry = ledger.Entry{Target: t, Rule: i.Rule.ID.Rule, Outcome: i.Outcome}
		a.stand(r, now)
		c.Ready()
	case !i.Due.After(now):
		a.urgent = true
		a.nudge()
	case a.aheadFrom.IsZero():
		a.aheadFrom = now
		a.nudge()
	}
	if a.line.len >= a.prune {
		a.pruneLine()
	}
}

// unpark returns the parked requests to the queue.
func (a *worker) unpark() {
	for _, r := range a.parked {
		a.line.push(r)
	}
	a.urgent = a.urgent || len(a.parked) > 0
	a.parked = nil
}

// unblocked returns until when limits permit nothing. A new request does not wait because other namespaces were not
// admitted.
func (a *worker) unblocked() time.Time {
	if a.short {
		return a.blocked
	}
	return time.Time{}
}

// pruneLine drops requests whose subjects no longer exist, or are kept.
func (a *worker) pruneLine() {
	a.line.retain(func(r *request) bool {
		if _, _, ok := r.entryOf(a.uid); ok {
			return true
		}
		delete(a.requests, r.subject.UID)
		r.candidate.Ready() // if the subject is only kept for a while, it gets a new due time
		return false
	})
	a.prune = max(pruneAt, 2*a.line.len)
}

// stand marks the entry of a request as confirmed.
func (a *worker) stand(r *request, now time.Time) {
	r.writing, r.stands, r.sent, r.slow, r.since = false, true, false, false, now
	a.standing++
}

// leave updates the counters for a request whose entry ended, or that is being sent.
func (a *worker) leave(r *request) {
	if !r.stands || r.sent {
		return
	}
	a.standing--
	if r.slow {
		a.slow--
	}
}

// drop forgets a request whose entry was confirmed.
func (a *worker) drop(r *request) {
	a.leave(r)
	delete(a.requests, r.subject.UID)
}

// sending reports whether a recorded deletion may be sent now. It may not if limits were lowered since then, or if the
// ledger with the entry no longer exists: then no ledger would count the deletion.
func (a *worker) sending(i policy.Intent, t policy.Target) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.requests[i.Subject.UID]
	if r == nil || !r.stands || !r.entry.Is(t) || r.subject != subjectOf(i) {
		return false
	}
	if errors.Is(a.trouble, ErrMissing) || apierrors.IsNotFound(a.trouble) {
		a.withdraw(r)
		return false
	}
	if budget := a.budget(); budget != nil && a.machine.Charged(a.manager.Clock.Now(), budget) > budget.Max {
		a.withdraw(r)
		return false
	}
	// A process that was stopped after preflight may no longer lead.
	if a.manager.Leadership.Check() != nil || !a.machine.Sending(t) {
		return false
	}
	a.leave(r)
	r.sent = true
	return true
}

// withdraw ends the entry of a request that is not being sent.
func (a *worker) withdraw(r *request) {
	a.machine.Withdrawn(r.entry.Target)
	a.drop(r)
	a.ends(a.manager.Clock.Now())
}

// stays is called when a subject is put off: its entry makes room for others.
func (a *worker) stays(i policy.Intent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.requests[i.Subject.UID]; r != nil && r.stands {
		a.withdraw(r)
	}
}

func (a *worker) ended(i policy.Intent, t policy.Target, o retention.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.machine.Answered(t, answerOf(o))
	if r := a.requests[i.Subject.UID]; r != nil && !a.machine.Stands(t) {
		a.drop(r)
	}
	a.ends(a.manager.Clock.Now())
	if a.line.len > 0 && a.refills() {
		a.nudge()
	}
}

// refills reports whether few enough recorded deletions are not sent yet, so that others can be recorded.
func (a *worker) refills() bool { return a.standing-a.slow < refillBelow }

// opens reports whether the worker may record deletions at all.
func (a *worker) opens() bool {
	return a.policy != nil && a.recorded && a.sealed() && (a.policy.Limits == nil || a.policy.Limits.Window > 0)
}

// record notes that the policy's status names the ledger.
func (a *worker) record() {
	a.mu.Lock()
	known := a.recorded
	a.recorded, a.blocked = true, time.Time{}
	a.mu.Unlock()
	if !known {
		a.nudge()
	}
}

func ready(all []*request) {
	for _, r := range all {
		r.candidate.Ready()
	}
}
