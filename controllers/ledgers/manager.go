package ledgers

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
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
	running  context.Context // nil until Start
	accounts map[types.UID]*worker
	snapshot *policy.Snapshot
	kept     sync.WaitGroup
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
	// Sight reads an object without a cache. If it returns an error, nothing is known about the object.
	Sight(ctx context.Context, t policy.Target) (ledger.Observation, error)
}

// Leadership tells whether this process leads.
type Leadership interface {
	// Check returns nil while this process certainly leads.
	Check() error
}

// Decider connects a Manager to the reconciler. It is set before Start.
type Decider struct {
	Knows   func(types.UID) bool // reports whether an object may still be decided about
	Changed func()               // called when counters or errors have changed
	// Check returns why nothing may be deleted now. It is called before anything is recorded: with a wrong clock, deletions
	// would stop counting against limits too early.
	Check   func(context.Context) error
	Stopped <-chan struct{} // closed when no more deletions are sent
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
		opened: make(chan struct{}), done: make(chan struct{}), failed: make(chan error, 1), accounts: map[types.UID]*worker{},
	}
}

// Use sets the policies as they apply now.
func (o *Manager) Use(snapshot *policy.Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.snapshot = snapshot
	o.follow()
}

// follow creates and updates the workers for the snapshot and the ledgers that were found. It starts no worker after the
// Manager has stopped.
func (o *Manager) follow() {
	if o.running == nil || o.running.Err() != nil || o.snapshot == nil {
		return
	}
	kept, all := map[types.UID]*policy.Policy{}, map[types.UID]bool{}
	for _, p := range o.snapshot.Policies() {
		all[p.UID] = true
		if p.Ledger {
			kept[p.UID] = p
		}
	}
	for uid := range kept {
		if o.accounts[uid] == nil {
			o.accounts[uid] = newWorker(o, uid)
			o.keep(o.accounts[uid])
		}
	}
	for uid, a := range o.accounts {
		a.use(kept[uid], !all[uid])
	}
}

// keep runs a worker.
func (o *Manager) keep(a *worker) {
	o.kept.Go(func() {
		err := a.run(o.running)
		if errors.Is(err, errBuried) {
			o.mu.Lock()
			defer o.mu.Unlock()
			delete(o.accounts, a.uid)
			o.follow() // the policy may have come back
			return
		}
		if err != nil {
			select {
			case o.failed <- err:
			default:
			}
		}
	})
}

// Open implements retention.Ledger: it writes this process as the holder into every ledger, so that an earlier leader can
// no longer write. If a ledger cannot be written within openPatience, only its own policy waits. If the ledgers cannot be
// listed, all policies with a ledger wait.
func (o *Manager) Open(ctx context.Context) error {
	deadline := o.Clock.Now().Add(openPatience)
	for {
		listed, err := o.takeOver(ctx, deadline)
		late := !o.Clock.Now().Before(deadline)
		if err == nil || listed && late {
			close(o.opened)
			return nil
		}
		log.FromContext(ctx).Error(err, "RetentionLedgers not taken over")
		if late {
			go o.openLate(ctx)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-o.Clock.After(openAgain):
		}
	}
}

// openLate waits until the ledgers can be listed, and then ends the process.
func (o *Manager) openLate(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Clock.After(openAgain):
		}
		if _, err := o.list(ctx); err == nil {
			o.failed <- ErrLate
			return
		}
	}
}

// takeOver reads and seals every ledger. It returns an error if it could not list the ledgers, or seal one of them.
func (o *Manager) takeOver(ctx context.Context, deadline time.Time) (listed bool, err error) {
	all, err := o.list(ctx)
	if err != nil {
		return false, err
	}
	var sealing errgroup.Group
	sealing.SetLimit(sealAtATime)
	for i := range all {
		sealing.Go(func() error {
			a := newWorker(o, types.UID(all[i].GetName()))
			defer func() {
				o.mu.Lock()
				defer o.mu.Unlock()
				o.accounts[a.uid] = a
			}()
			stored, unread := understand(&all[i])
			if unread != nil {
				a.late = true // as if its content were invalid: only its own policy waits
				return nil
			}
			ctx := ctx
			if !o.Clock.Now().Before(deadline) {
				late, cancel := context.WithTimeout(ctx, sealLate)
				defer cancel()
				ctx = late
			}
			return a.seal(ctx, stored)
		})
	}
	return true, sealing.Wait()
}

// Start keeps the ledgers until ctx has ended and no more deletions are sent. It returns an error if another controller has
// taken over a ledger.
func (o *Manager) Start(ctx context.Context) error {
	defer close(o.done)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	select {
	case <-ctx.Done():
		return nil
	case err = <-o.failed:
		return err
	case <-o.opened:
	}
	o.mu.Lock()
	o.running = running
	for _, a := range o.accounts {
		o.keep(a)
	}
	o.follow()
	o.mu.Unlock()
	select {
	case <-ctx.Done():
	case err = <-o.failed:
	}
	o.mu.Lock()
	cancel() // under the lock, so that follow starts no worker after this
	o.mu.Unlock()
	o.kept.Wait()
	if err == nil {
		o.finish(context.WithoutCancel(ctx))
	}
	return err
}

// Done returns a channel that is closed when no more ledgers are written.
func (o *Manager) Done() <-chan struct{} { return o.done }

// finish waits for the deletions in flight, and writes their results.
func (o *Manager) finish(ctx context.Context) {
	select {
	case <-o.Stopped:
	case <-o.Clock.After(removalsEnd):
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	for _, a := range o.all() {
		a.finish(ctx)
	}
}

// NeedLeaderElection returns true: only the leader keeps ledgers.
func (o *Manager) NeedLeaderElection() bool { return true }

func (o *Manager) all() []*worker {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]*worker, 0, len(o.accounts))
	for _, a := range o.accounts {
		all = append(all, a)
	}
	return all
}

func (o *Manager) account(uid types.UID) *worker {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.accounts[uid]
}

// Lookup implements retention.Ledger.
func (o *Manager) Lookup(i policy.Intent) (policy.Target, bool) {
	if a := o.account(i.Rule.PolicyUID); a != nil {
		return a.targetOf(i)
	}
	return policy.Target{}, false
}

// Reserve implements retention.Ledger. Without a worker for the policy nothing is recorded or deleted: the snapshot that
// brings the policy has the subject evaluated again.
func (o *Manager) Reserve(i policy.Intent, t policy.Target, c retention.Candidate) {
	if a := o.account(i.Rule.PolicyUID); a != nil {
		a.write(i, t, c)
	}
}

// MarkSent implements retention.Ledger.
func (o *Manager) MarkSent(i policy.Intent, t policy.Target) bool {
	a := o.account(i.Rule.PolicyUID)
	return a != nil && a.sending(i, t)
}

// Finish implements retention.Ledger.
func (o *Manager) Finish(i policy.Intent, t policy.Target, outcome retention.Outcome) {
	if a := o.account(i.Rule.PolicyUID); a != nil {
		a.ended(i, t, outcome)
	}
}

// Withdraw implements retention.Ledger.
func (o *Manager) Withdraw(i policy.Intent) {
	if a := o.account(i.Rule.PolicyUID); a != nil {
		a.stays(i)
	}
}

// State returns the state of a policy's ledger; false if the policy keeps none, or if the Manager has not started.
func (o *Manager) State(uid types.UID) (State, bool) {
	o.mu.Lock()
	a, running := o.accounts[uid], o.running != nil
	o.mu.Unlock()
	if a == nil || !running {
		return State{}, false
	}
	return a.state(o.Clock.Now()), true
}

// Recorded is called when the status of a policy names its ledger: from now on entries may be written.
func (o *Manager) Recorded(uid types.UID) {
	if a := o.account(uid); a != nil {
		a.record()
	}
}

// statusOf reads the status of a policy. If another policy has its name, the error is NotFound.
func (o *Manager) statusOf(ctx context.Context, p *policy.Policy) (v1alpha1.RetentionPolicyStatus, error) {
	return o.readPolicy(ctx, v1alpha1.LedgerPolicy{Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID})
}
