// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Manager keeps the ledgers of all policies. It implements retention.Ledger for the reconciler. Create it with New.
type Manager struct {
	Options
	Decider
	holder string
	opened chan struct{} // closed when the ledgers may be written
	done   chan struct{}
	failed chan error // the error of the first worker that lost its ledger

	mu       lockorder.Mutex[lockorder.Ledgers]
	ctx      context.Context // nil until Start
	workers  map[types.UID]*worker
	snapshot *policy.Snapshot
	group    sync.WaitGroup
}

// Options are the dependencies of a Manager.
type Options struct {
	Client     client.Client // its writes go directly to the API server
	Live       client.Reader // its reads do, too
	Objects    Objects
	Leadership Leadership
	Clock      clock.WithTicker
	Identity   string // of this process
}

// Objects reads single objects.
type Objects interface {
	// Observe reads an object without a cache. If it returns an error, nothing is known about the object.
	Observe(ctx context.Context, t policy.Target) (ledger.Observation, error)
}

// Leadership tells whether this process leads.
type Leadership interface {
	// Check returns nil while this process certainly leads.
	Check() error
}

// Decider connects a Manager to the reconciler. It is set before Start.
type Decider struct {
	Known   func() func(types.UID) bool // returns a function that reports whether an object may still be decided about
	Changed func()                      // called when counters or errors have changed
	// Check returns why nothing may be deleted now. It is called before anything is recorded: with a wrong clock, deletions
	// would stop counting against limits too early.
	Check   func(context.Context) error
	Stopped <-chan struct{} // closed when no more deletions are sent
	// Archives has the records of what rules that archive delete; nil for none.
	Archives Archives
}

// ErrLate says that a ledger was taken over only after objects had been listed. The process must restart.
var ErrLate = errors.New("RetentionLedger taken over after objects were listed; the controller restarts")

const (
	openPatience = 15 * time.Second // after that, policies without a ledger no longer wait
	openAgain    = time.Second
	sealAtATime  = 16
	sealLate     = time.Second      // timeout of the request for each ledger once openPatience has passed
	removalsEnd  = 22 * time.Second // how long to wait at the end for deletions in flight
	finishTime   = 5 * time.Second
)

// New makes a Manager with no ledgers.
func New(o Options) *Manager {
	return &Manager{
		Options: o, holder: o.Identity + "_" + string(uuid.NewUUID()), // unique: a process that restarts gets another one
		opened: make(chan struct{}), done: make(chan struct{}), failed: make(chan error, 1), workers: map[types.UID]*worker{},
	}
}

// Use sets the policies as they apply now.
func (m *Manager) Use(snapshot *policy.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshot = snapshot
	m.follow()
}

// follow creates and updates the workers for the snapshot and the ledgers that were found. It starts no worker after the
// Manager has stopped.
func (m *Manager) follow() {
	if m.ctx == nil || m.ctx.Err() != nil || m.snapshot == nil {
		return
	}
	kept, all := map[types.UID]*policy.Policy{}, map[types.UID]bool{}
	for _, p := range m.snapshot.Policies() {
		all[p.UID] = true
		if p.Ledger {
			kept[p.UID] = p
		}
	}
	for uid := range kept {
		if m.workers[uid] == nil {
			m.workers[uid] = newWorker(m, uid)
			m.runWorker(m.workers[uid])
		}
	}
	for uid, w := range m.workers {
		w.use(kept[uid], !all[uid])
	}
}

// runWorker runs a worker.
func (m *Manager) runWorker(w *worker) {
	m.group.Go(func() {
		err := w.run(m.ctx)
		if errors.Is(err, errPolicyDeleted) {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.workers, w.uid)
			m.follow() // the policy may have come back
			return
		}
		if err != nil {
			select {
			case m.failed <- err:
			default:
			}
		}
	})
}

// Open implements retention.Ledger: it writes this process as the holder into every ledger, so that an earlier leader can
// no longer write. If a ledger cannot be written within openPatience, only its own policy waits. If the ledgers cannot be
// listed, all policies with a ledger wait.
func (m *Manager) Open(ctx context.Context) error {
	deadline := m.Clock.Now().Add(openPatience)
	for {
		listed, err := m.takeOver(ctx, deadline)
		late := !m.Clock.Now().Before(deadline)
		if err == nil || listed && late {
			close(m.opened)
			return nil
		}
		log.FromContext(ctx).Error(err, "RetentionLedgers not taken over")
		if late {
			go m.openLate(ctx)
			return nil
		}
		if wake.Sleep(ctx, m.Clock, openAgain); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// openLate waits until the ledgers can be listed, and then ends the process.
func (m *Manager) openLate(ctx context.Context) {
	for ctx.Err() == nil {
		wake.Sleep(ctx, m.Clock, openAgain)
		if _, err := m.list(ctx); err == nil {
			m.failed <- ErrLate
			return
		}
	}
}

// takeOver reads and seals every ledger. It returns an error if it could not list the ledgers, or seal one of them.
func (m *Manager) takeOver(ctx context.Context, deadline time.Time) (listed bool, err error) {
	all, err := m.list(ctx)
	if err != nil {
		return false, err
	}
	var sealing errgroup.Group
	sealing.SetLimit(sealAtATime)
	for i := range all {
		sealing.Go(func() error {
			w := newWorker(m, types.UID(all[i].GetName()))
			defer func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.workers[w.uid] = w
			}()
			stored, unread := understand(&all[i])
			if unread != nil {
				w.late = true // as if its content were invalid: only its own policy waits
				return nil
			}
			ctx := ctx
			if !m.Clock.Now().Before(deadline) {
				late, cancel := context.WithTimeout(ctx, sealLate)
				defer cancel()
				ctx = late
			}
			return w.seal(ctx, stored)
		})
	}
	return true, sealing.Wait()
}

// Start keeps the ledgers until ctx has ended and no more deletions are sent. It returns an error if another controller has
// taken over a ledger.
func (m *Manager) Start(ctx context.Context) error {
	defer close(m.done)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	select {
	case <-ctx.Done():
		return nil
	case err = <-m.failed:
		return err
	case <-m.opened:
	}
	m.mu.Lock()
	m.ctx = running
	for _, w := range m.workers {
		m.runWorker(w)
	}
	m.follow()
	m.mu.Unlock()
	select {
	case <-ctx.Done():
	case err = <-m.failed:
	}
	m.mu.Lock()
	cancel() // under the lock, so that follow starts no worker after this
	m.mu.Unlock()
	m.group.Wait()
	if err == nil {
		m.finish(context.WithoutCancel(ctx))
	}
	return err
}

// Done returns a channel that is closed when no more ledgers are written.
func (m *Manager) Done() <-chan struct{} { return m.done }

// finish waits for the deletions in flight, and writes their results.
func (m *Manager) finish(ctx context.Context) {
	select {
	case <-m.Stopped:
	case <-m.Clock.After(removalsEnd):
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	for _, w := range m.all() {
		w.finish(ctx)
	}
}

// NeedLeaderElection returns true: only the leader keeps ledgers.
func (m *Manager) NeedLeaderElection() bool { return true }

func (m *Manager) all() []*worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.workers))
}

func (m *Manager) worker(uid types.UID) *worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.workers[uid]
}

// Lookup implements retention.Ledger.
func (m *Manager) Lookup(i policy.Intent) (policy.Target, bool) {
	if w := m.worker(i.Rule.PolicyUID); w != nil {
		return w.targetOf(i)
	}
	return policy.Target{}, false
}

// Reserve implements retention.Ledger.
func (m *Manager) Reserve(i policy.Intent, t policy.Target, c retention.Candidate) bool {
	w := m.worker(i.Rule.PolicyUID)
	if w != nil {
		w.reserve(i, t, c)
	}
	return w != nil
}

// Awaits implements retention.Ledger.
func (m *Manager) Awaits(i policy.Intent, c retention.Candidate) bool {
	w := m.worker(i.Rule.PolicyUID)
	return w != nil && w.awaits(i, c)
}

// Fits implements retention.Ledger.
func (m *Manager) Fits(i policy.Intent, more int) bool {
	w := m.worker(i.Rule.PolicyUID)
	return w != nil && w.fits(more)
}

// MarkSent implements retention.Ledger.
func (m *Manager) MarkSent(i policy.Intent, t policy.Target) bool {
	w := m.worker(i.Rule.PolicyUID)
	return w != nil && w.markSent(i, t)
}

// Withdraw implements retention.Ledger.
func (m *Manager) Withdraw(i policy.Intent) {
	if w := m.worker(i.Rule.PolicyUID); w != nil {
		w.putOff(i)
	}
}

// State returns the state of a policy's ledger; false if the policy keeps none, or if the Manager has not started.
func (m *Manager) State(uid types.UID) (State, bool) {
	m.mu.Lock()
	w, running := m.workers[uid], m.ctx != nil
	m.mu.Unlock()
	if w == nil || !running {
		return State{}, false
	}
	return w.state(m.Clock.Now()), true
}

// Recorded is called when the status of a policy names its ledger: from now on entries may be written.
func (m *Manager) Recorded(uid types.UID) {
	if w := m.worker(uid); w != nil {
		w.record()
	}
}

// statusOf reads the status of a policy. If another policy has its name, the error is NotFound.
func (m *Manager) statusOf(ctx context.Context, p *policy.Policy) (v1alpha1.RetentionPolicyStatus, error) {
	return m.readPolicy(ctx, v1alpha1.LedgerPolicy{Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID})
}
