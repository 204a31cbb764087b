// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// worker records objects in one RetentionArchive.
type worker struct {
	manager *Manager
	name    string
	uid     types.UID           // of the RetentionArchive
	stop    func()              // ends run; nil until it runs
	wake    wake.Signal         // of dispatch
	attend  wake.Signal         // of upkeep
	results wake.Signal         // of flushes
	slots   *shares             // of requests to the API server
	memory  *shares             // of bytes that were read and are not in a segment yet
	large   *semaphore.Weighted // held by the one that uses the memory for large records

	segment segment             // the one that grows
	opening *semaphore.Weighted // held while the store is opened
	opened  opened

	flushing *semaphore.Weighted // held while the index is written

	mu        sync.Mutex
	closed    bool // the RetentionArchive no longer exists
	spec      spec // as last read
	index     index
	invalid   error       // why the RetentionArchive cannot be used; nil if it can
	shared    error       // why spec.retain deletes nothing, because another RetentionArchive has the same url; nil if none has
	probe     store.Probe // what the store could do at the last attempt
	expired   error       // why the store keeps what is older than spec.retain; nil if it does not
	retrying  bool        // the writer retries a segment that cannot be written
	refusal   error       // why the writer has given back a segment and has written no other since; nil if it has not
	refusedAt time.Time   // when it last was
	damage    error       // how the last segment differed when it was read back; nil after another one was written
	damaged   time.Time   // when that was
	requests  map[types.UID]*request
	groups    map[groupKey]*group
	receipts  receipts
	settings  settingsOf
	history   history
	written   written
}

func newWorker(m *Manager, a *v1alpha1.RetentionArchive) *worker {
	w := &worker{
		manager: m, name: a.Name, uid: a.UID, spec: spec{object: a}, slots: newShares(requestsMost), memory: newShares(memoryMost), large: semaphore.NewWeighted(1),
		opening: semaphore.NewWeighted(1), flushing: semaphore.NewWeighted(1),
		history: newHistory(), requests: map[types.UID]*request{}, groups: map[groupKey]*group{}, receipts: newReceipts(m.Clock.Now, nil),
	}
	w.index.Indexer = archive.NewIndexer(w)
	return w
}

// run works until ctx ends.
func (w *worker) run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { w.write(ctx) })
	group.Go(func() { w.flushes(ctx) })
	group.Go(func() { w.upkeep(ctx) })
	pause := time.Duration(0)
	for w.wake.Wait(ctx, w.manager.Clock, pause) {
		pause = w.dispatch(ctx, &group)
	}
	group.Wait()
}

// close refuses everything except results from now on, since the RetentionArchive no longer exists.
func (w *worker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// mayArchive returns why a rule cannot archive now, as far as that is known. The rule may archive objects of other kinds too. The
// caller holds mu.
func (w *worker) mayArchive(r *policy.Rule, also ...schema.GroupKind) error {
	if err := w.permits(r, also...); err != nil {
		return err
	}
	if err := w.problem(); err != nil {
		return fmt.Errorf("RetentionArchive %q: %w", w.name, err)
	}
	return nil
}

// permits is mayArchive for records that the store already has.
func (w *worker) permits(r *policy.Rule, also ...schema.GroupKind) error {
	if w.closed {
		return policy.NoArchive(w.name)
	}
	if w.invalid != nil {
		return fmt.Errorf("RetentionArchive %q: %w", w.name, w.invalid)
	}
	var namespace policy.Namespace
	if rules := w.manager.rules.Load(); rules != nil && r.Namespace != "" {
		var known bool
		if namespace, known = rules.Namespace(r.Namespace); !known {
			return fmt.Errorf("namespace %s is not known yet", r.Namespace)
		}
	}
	return policy.MayArchive(r, w.spec.object, namespace, also...)
}

// lookup returns the receipt for a version of a target. A store that fails does not end it.
func (w *worker) lookup(i policy.Intent, t policy.Target) (policy.Receipt, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.receipts.of(t)
	if !ok || !r.Covers(t, i.Rule) || w.permits(i.Rule, t.Kind.GroupKind()) != nil {
		return policy.Receipt{}, false
	}
	w.receipts.use(t)
	return r, true
}

// record queues a target, unless it is queued. The Outcome says why it cannot be recorded now; nil if no reason is known.
func (w *worker) record(i policy.Intent, t policy.Target, c retention.Candidate) *retention.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mayArchive(i.Rule, t.Kind.GroupKind()); err != nil {
		return &retention.Outcome{Err: err, Unsent: true}
	}
	if receipt, ok := w.receipts.of(t); ok && receipt.Covers(t, i.Rule) { // it came after Lookup
		go c.Ready()
		return nil
	}
	r := w.requests[t.UID]
	if r != nil && r.target.Is(t) && !r.same(t, i.Rule.Archive) && !r.isStale() {
		if r.leave(i.Subject.UID); r.candidate != nil {
			r.later = append(r.later, waiting{i, c})
			return nil
		}
	}
	if r == nil || !r.same(t, i.Rule.Archive) {
		r = w.enqueue(i, t)
	}
	if r.isStale() && !r.after.After(w.manager.Clock.Now()) {
		delete(w.requests, t.UID)
		r.leave(i.Subject.UID)
		r.readyLater()
		return &retention.Outcome{Result: r.stale, Err: fmt.Errorf("%s: the API server has another version, or none", t), Unsent: true}
	}
	r.join(i, c)
	w.wake.Send()
	if r.err != nil {
		return &retention.Outcome{Err: fmt.Errorf("no record for RetentionArchive %q: %w", w.name, r.err), Unsent: true}
	}
	return nil
}

// enqueue adds a request, instead of an earlier one about the same object.
func (w *worker) enqueue(i policy.Intent, t policy.Target) *request {
	r := &request{key: w.keyOf(t, i.Rule.Archive), target: t, intent: i}
	r.after, r.err = w.history.next(t.UID, w.manager.Clock.Now())
	if old := w.requests[t.UID]; old != nil {
		old.leave(i.Subject.UID)
		old.readyLater()
	}
	w.requests[t.UID] = r
	w.queue(r)
	return r
}

// queue adds a request to its group.
func (w *worker) queue(r *request) {
	g := w.groups[r.key]
	if g == nil {
		g = &group{most: chunkMost}
		w.groups[r.key] = g
	}
	if !r.queued {
		r.queued = true
		g.waiting = append(g.waiting, r)
	}
}

// withdraw forgets a target that is not being recorded. A receipt stays: the version may be deleted later.
func (w *worker) withdraw(i policy.Intent) {
	uid := i.Subject.UID
	if i.Owner != nil {
		uid = i.Owner.UID
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.requests[uid]; r != nil {
		if r.leave(i.Subject.UID); r.candidate == nil && !r.underway {
			delete(w.requests, uid)
			r.readyLater()
		}
	}
}

// finished takes the result of a DELETE. Only a final result ends the use of the receipt.
func (w *worker) finished(t policy.Target, o retention.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, result := w.receipts.finish(t, o)
	if result == archive.Deleted || result == archive.Gone || result == archive.Absent {
		w.history.forget(t.UID)
	}
	w.index.finish(r, result, w.manager.Clock.Now())
}

// problem returns why nothing can be recorded now; nil if it can. The caller holds mu.
func (w *worker) problem() error { return cmp.Or(w.invalid, w.failure(), w.index.backlog()) }

// damageLasts is how long a damaged segment is reported: longer than the pause between two attempts.
const damageLasts = 2 * time.Minute

// refusalLasts is how long a refusal is reported if nothing else ends it: longer than the pause before the writer tries the record again.
const refusalLasts = refusedMost + 5*time.Minute

// reported returns why nothing can be recorded, or how the last segment was damaged a short time ago: between two attempts, the store may
// pass a probe and damage only segments. The caller holds mu.
func (w *worker) reported() error {
	if err := w.problem(); err != nil || w.manager.Clock.Since(w.damaged) >= damageLasts {
		return err
	}
	return w.damage
}

// failure returns why the store cannot be used; nil if it can. The caller holds mu.
func (w *worker) failure() error { return cmp.Or(w.probe.Write, w.probe.Read) }

// note changes what is known about the store. If it cannot be used any more, the reconciler evaluates the waiting subjects again and reports the
// reason.
func (w *worker) note(change func(*store.Probe)) {
	w.mu.Lock()
	before := w.failure()
	change(&w.probe)
	after := w.failure()
	w.mu.Unlock()
	w.report()
	if (before == nil) == (after == nil) {
		return
	}
	if after != nil {
		callReady(w.candidates())
	}
	w.wake.Send()
	w.attend.Send()
}

// report exports whether anything can be recorded.
func (w *worker) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	unavailable := 0.0
	if w.reported() != nil || w.refusal != nil {
		unavailable = 1
	}
	metrics.ArchiveUnavailable.WithLabelValues(w.name).Set(unavailable)
	metrics.ArchiveWaiting.WithLabelValues(w.name).Set(float64(len(w.requests)))
}

// candidates returns the candidates of all requests.
func (w *worker) candidates() []retention.Candidate {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []retention.Candidate
	for _, r := range w.requests {
		all = append(all, r.candidates()...)
	}
	return all
}

func callReady(all []retention.Candidate) {
	for _, c := range all {
		c.Ready()
	}
}
