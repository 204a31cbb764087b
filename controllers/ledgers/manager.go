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

// Manager keeps the ledgers of all policies. It is the retention.Ledger of the reconciler. Create it with New.
type Manager struct {
	Options
	Decider
	holder string
	opened chan struct{} // closed when ledgers may be kept
	done   chan struct{}
	failed chan error // the first account that was deposed

	mu       lockorder.Mutex[lockorder.Ledgers]
	running  context.Context // nil until Start
	accounts map[types.UID]*worker
	snapshot *policy.Snapshot
	kept     sync.WaitGroup
}

// Options is what a Manager is made of.
type Options struct {
	Client     client.Client // writes go to the API server
	Live       client.Reader // reads too
	Objects    Objects
	Leadership Leadership
	Clock      clock.WithTicker
	Identity   string // of this process
}

// Objects looks at single objects.
type Objects interface {
	// Sight reads an object, past every cache. An error says nothing about it.
	Sight(ctx context.Context, t policy.Target) (ledger.Observation, error)
}

// Leadership says whether this process leads.
type Leadership interface {
	// Check returns nil while leadership is certain.
	Check() error
}

// Decider is what a Manager has to know of those it works with. It is set before Start.
type Decider struct {
	Knows   func(types.UID) bool // whether anything may still be decided about an object
	Changed func()               // called when counters or troubles have changed
	// Check says why nothing may be removed now: it is asked before anything is written down, since a clock that is wrong
	// would forget what counts against limits.
	Check   func(context.Context) error
	Stopped <-chan struct{} // closed when nothing is removed any more
}

// ErrLate says that a ledger could not be taken over in time: objects were listed meanwhile. The process has to begin again.
var ErrLate = errors.New("the controller took over a RetentionLedger only after it had listed objects; it restarts")

const (
	openPatience = 15 * time.Second // then policies without a ledger wait no longer
	openAgain    = time.Second
	sealAtATime  = 16
	sealLate     = time.Second      // timeout of the request for each ledger once openPatience has passed
	removalsEnd  = 22 * time.Second // how long to wait at the end for removals under way
	finishTime   = 5 * time.Second
)

// New makes a Manager with no ledgers.
func New(o Options) *Manager {
	return &Manager{
		Options: o, holder: o.Identity + "_" + string(uuid.NewUUID()), // no other, not even of this process before a restart
		opened: make(chan struct{}), done: make(chan struct{}), failed: make(chan error, 1), accounts: map[types.UID]*worker{},
	}
}

// Use takes the policies as they apply now.
func (o *Manager) Use(snapshot *policy.Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.snapshot = snapshot
	o.follow()
}

// follow makes the accounts those of the snapshot and of the ledgers that were found. No account is begun once they end.
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

// keep runs an account.
func (o *Manager) keep(a *worker) {
	o.kept.Go(func() {
		err := a.run(o.running)
		if errors.Is(err, errBuried) {
			o.mu.Lock()
			defer o.mu.Unlock()
			delete(o.accounts, a.uid)
			o.follow() // should it have come back meanwhile
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

// Open implements retention.Ledger: it writes our name into every ledger, so that whoever led before cannot write any more.
// What cannot be written within openPatience keeps nobody waiting but its own policy, and what cannot be listed all that
// have a ledger.
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

// openLate waits until the ledgers can be listed after all, and ends the process then.
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

// takeOver reads and seals every ledger. The error is that of one which could not be sealed, or listed.
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
				a.late = true // as for a ledger with invalid content: only its own policy waits
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

// Start keeps the ledgers until ctx has ended and nothing is removed any more. The error says that they were taken over.
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
	cancel() // whoever follows the snapshot sees it: no account begins while they are waited for
	o.mu.Unlock()
	o.kept.Wait()
	if err == nil {
		o.finish(context.WithoutCancel(ctx))
	}
	return err
}

// Done is closed when no ledger is written any more.
func (o *Manager) Done() <-chan struct{} { return o.done }

// finish waits for the removals under way and writes how they ended.
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

// NeedLeaderElection says that only the leader keeps ledgers.
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

// Reserve implements retention.Ledger. What cannot be written down for want of an account is not removed: the snapshot that
// brings one has it judged again.
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

// State says how the ledger of a policy stands; false when it keeps none, or nobody knows yet.
func (o *Manager) State(uid types.UID) (State, bool) {
	o.mu.Lock()
	a, running := o.accounts[uid], o.running != nil
	o.mu.Unlock()
	if a == nil || !running {
		return State{}, false
	}
	return a.state(o.Clock.Now()), true
}

// Recorded is told that the status of a policy names its ledger: from now on entries may be written.
func (o *Manager) Recorded(uid types.UID) {
	if a := o.account(uid); a != nil {
		a.record()
	}
}

// statusOf reads the status of a policy. One of the same name is none: that is NotFound.
func (o *Manager) statusOf(ctx context.Context, p *policy.Policy) (v1alpha1.RetentionPolicyStatus, error) {
	return o.readPolicy(ctx, v1alpha1.LedgerPolicy{Namespace: p.Namespace, Name: p.ObjectName(), UID: p.UID})
}
