// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/controllers/metrics"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

// Manager records objects in all RetentionArchives. It implements retention.Archive for the reconciler. Create it with New.
type Manager struct {
	Options
	Decider
	cluster atomic.Pointer[string] // UID of the cluster; nil until it is known
	rules   atomic.Pointer[policy.Snapshot]
	done    chan struct{}

	mu      sync.Mutex
	running context.Context    // nil until Start
	workers map[string]*worker // by the name of the RetentionArchive
	leaving []*worker          // of RetentionArchives that no longer exist, until the last result of a deletion
	unread  error              // why the RetentionArchives are not known; nil if they are
	group   sync.WaitGroup
}

// Options are the dependencies of a Manager.
type Options struct {
	Cache      client.Reader // of RetentionArchives
	Client     client.Client // writes their status
	Live       client.Reader // reads Secrets, RetentionArchives and the namespace kube-system from the API server
	Objects    Objects
	Leadership interface{ Check() error } // returns nil while this process certainly leads
	Clock      clock.WithTicker
	Open       Opener // nil: store.Open
}

// Opener opens the store of a URL, with the data of a Secret; nil data for the identity of the process. It sends no request.
type Opener func(ctx context.Context, url string, credentials map[string][]byte) (Store, error)

// Store is a Bucket with what maintenance needs.
type Store interface {
	archive.Bucket
	// Probe writes an object, reads it back and deletes it.
	Probe(ctx context.Context) store.Probe
	Close() error
}

// Decider connects a Manager to the reconciler. It is set before Start.
type Decider struct {
	// Expected returns the deletion of an object that is expected soon and that limits do not delay for long. See Reconciler.Expected.
	Expected func(schema.GroupVersionKind, types.UID) (policy.Intent, bool)
	Stopped  <-chan struct{} // closed when no more deletions are sent
	// Check returns why nothing may be deleted now. It is called before anything is recorded or deleted from an archive: with a wrong
	// clock, records would expire too early.
	Check func(context.Context) error
}

const (
	readEvery   = 5 * time.Second  // between two readings of the RetentionArchives
	absentPause = time.Minute      // before another attempt, if the API server does not have the kind
	readTimeout = 4 * time.Second  // of reading them: the cache waits for the first list
	removalsEnd = 22 * time.Second // how long to wait at the end for deletions in flight
	finishTime  = 5 * time.Second  // of writing their results
)

// New makes a Manager with no archives.
func New(o Options) *Manager {
	if o.Open == nil {
		o.Open = func(ctx context.Context, url string, credentials map[string][]byte) (Store, error) {
			return store.Open(ctx, url, credentials)
		}
	}
	return &Manager{Options: o, done: make(chan struct{}), workers: map[string]*worker{}, unread: errUnread}
}

// errUnread is why RetentionArchives are not known until they are first read.
var errUnread = errors.New("RetentionArchives have not been read yet")

// NeedLeaderElection returns true: only the leader writes.
func (m *Manager) NeedLeaderElection() bool { return true }

// Start records objects until ctx has ended, and then writes the results of the deletions in flight.
func (m *Manager) Start(ctx context.Context) error {
	defer close(m.done)
	m.mu.Lock()
	m.running = ctx
	m.mu.Unlock()
	var tick wake.Signal
	for pause := time.Duration(0); tick.Wait(ctx, m.Clock, pause); {
		pause = m.read(ctx)
	}
	m.group.Wait()
	m.finish(context.WithoutCancel(ctx))
	return nil
}

// Done returns a channel that is closed when nothing more is written.
func (m *Manager) Done() <-chan struct{} { return m.done }

// Use sets the policies as they apply now, with their namespaces.
func (m *Manager) Use(snapshot *policy.Snapshot) { m.rules.Store(snapshot) }

// read reads the RetentionArchives and passes them to their workers. It returns when to read them again.
func (m *Manager) read(ctx context.Context) time.Duration {
	if m.cluster.Load() == nil {
		m.identify(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	archives, err := readFrom(ctx, m.Cache)
	if err != nil {
		log.FromContext(ctx).V(1).Info("RetentionArchives not read", "err", err.Error())
		m.fail(fmt.Errorf("RetentionArchives cannot be read; check their CustomResourceDefinition and the permission to list and watch them: %w", err))
		if meta.IsNoMatchError(err) {
			return absentPause
		}
		return readEvery
	}
	known := map[string]bool{}
	for _, a := range archives {
		known[a.Name] = true
		m.workerOf(a).use(a)
	}
	for _, w := range m.all() {
		if !known[w.name] {
			m.end(w.name)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unread = nil
	return readEvery
}

// fail notes why the RetentionArchives are not known. Those that were read before stay in use.
func (m *Manager) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unread != nil {
		m.unread = err
	}
}

// finish waits for the deletions in flight, and writes their results.
func (m *Manager) finish(ctx context.Context) {
	ended := false
	select {
	case <-m.Stopped:
		ended = true
	case <-m.Clock.After(removalsEnd):
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	var group sync.WaitGroup
	for _, w := range m.all() {
		group.Go(func() { w.finish(ctx, ended) })
	}
	group.Wait()
}

// all are the workers, and those that leave.
func (m *Manager) all() []*worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.AppendSeq(slices.Clone(m.leaving), maps.Values(m.workers))
}

// workerOf returns the worker of a RetentionArchive as it was read, and starts one if there is none. If the RetentionArchive has
// replaced another of the same name, the earlier worker ends, and its receipts with it.
func (m *Manager) workerOf(a reading) *worker {
	if w, _ := m.named(a.Name); w != nil && w.uid == a.UID {
		return w
	}
	m.end(a.Name)
	m.mu.Lock()
	defer m.mu.Unlock()
	w := newWorker(m, a.RetentionArchive)
	w.use(a)
	m.workers[a.Name] = w
	if ctx := m.running; ctx.Err() == nil {
		own, cancel := context.WithCancel(ctx)
		w.stop = cancel
		m.group.Go(func() {
			w.run(own)
			if w.leave(ctx); ctx.Err() == nil {
				m.left(w)
			}
		})
	}
	return w
}

// end ends the worker of a RetentionArchive that no longer exists.
func (m *Manager) end(name string) {
	m.mu.Lock()
	w := m.workers[name]
	delete(m.workers, name)
	if w != nil {
		m.leaving = append(m.leaving, w)
	}
	m.mu.Unlock()
	if w == nil {
		return
	}
	w.close()
	if w.stop != nil {
		w.stop()
	}
	forgetMetrics(name)
	callReady(w.candidates())
}

// left forgets a worker that has written everything, its metrics included: it may have set some since end.
func (m *Manager) left(w *worker) {
	m.mu.Lock()
	m.leaving = slices.DeleteFunc(m.leaving, func(other *worker) bool { return other == w })
	if m.workers[w.name] == nil {
		forgetMetrics(w.name)
	}
	m.mu.Unlock()
	w.closeStore()
}

func forgetMetrics(archive string) {
	for _, metric := range metrics.OfArchives {
		metric.DeleteLabelValues(archive)
	}
}

// named returns the worker of a RetentionArchive; nil if there is none. The error says why the RetentionArchives are not known.
func (m *Manager) named(name string) (w *worker, unread error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.workers[name], m.unread
}

// workerFor returns the worker of a rule's archive. The error says why there is none.
func (m *Manager) workerFor(r *policy.Rule) (*worker, error) {
	if r == nil || r.Archive == nil {
		return nil, errUnread
	}
	w, unread := m.named(r.Archive.To)
	if w == nil {
		return nil, cmp.Or(unread, policy.NoArchive(r.Archive.To))
	}
	return w, nil
}

// Lookup implements retention.Archive.
func (m *Manager) Lookup(i policy.Intent, t policy.Target) (policy.Receipt, bool) {
	if w, err := m.workerFor(i.Rule); err == nil {
		return w.lookup(i, t)
	}
	return policy.Receipt{}, false
}

// Record implements retention.Archive.
func (m *Manager) Record(i policy.Intent, t policy.Target, c retention.Candidate) *retention.Outcome {
	w, err := m.workerFor(i.Rule)
	if err != nil {
		return &retention.Outcome{Err: err, Unsent: true}
	}
	return w.record(i, t, c)
}

// Withdraw implements retention.Archive.
func (m *Manager) Withdraw(i policy.Intent) {
	if w, err := m.workerFor(i.Rule); err == nil {
		w.withdraw(i)
	}
}

// Finish implements retention.Archive. The result is that of the version, in all archives that have a record of it.
func (m *Manager) Finish(_ policy.Intent, t policy.Target, o retention.Outcome) {
	for _, w := range m.all() {
		w.finished(t, o)
	}
}

// Problem returns why the objects of a rule that archives cannot be recorded now; nil if they can, or if that is not known yet.
func (m *Manager) Problem(r *policy.Rule) error {
	if r.Archive == nil {
		return nil
	}
	w, err := m.workerFor(r)
	switch {
	case err == errUnread:
		return nil
	case err != nil:
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mayArchive(r); err != nil {
		return err
	}
	if err := w.reported(); err != nil {
		return fmt.Errorf("RetentionArchive %q: %w", w.name, err)
	}
	return nil
}
