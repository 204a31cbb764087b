// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Reconciler keeps an index of the subjects of all rules, and deletes those that are due. Create it with New, pass it the
// rules with Use, and call Start. On a standby, UseOnStandby and Watch keep the index before that.
type Reconciler struct {
	Options
	deletionRate *rate.Limiter
	slots        *concurrency

	failingRate    *rate.Limiter // limits attempts in namespaces where they fail to a tenth of pace
	throttledSlots *concurrency  // limits attempts in throttled namespaces
	slotsGivenUp   atomic.Int64  // attempts that have given up their worker slots

	wake  wake.Signal   // wakes tick
	ruled chan struct{} // closed by the first call of Use
	done  chan struct{}

	mu       lockorder.Mutex[lockorder.Retention]
	running  context.Context // nil until Watch or Start; the context of the listings
	end      context.CancelFunc
	leads    bool           // the ledgers are open
	tasks    sync.WaitGroup // listings, pipelines and the prefetch
	listings uint64
	snapshot *policy.Snapshot
	programs map[string]*engine.Program
	kinds    map[schema.GroupKind]*watchedKind

	preflightError atomic.Pointer[preflightError]
	prefetching    atomic.Bool
}

// preflightError is why preflight stopped a deletion, and when.
type preflightError struct {
	err error
	at  time.Time
}

// preflightErrorLasts is how long a preflight error is reported. Subjects are retried sooner, so an error that lasts is stored again.
const preflightErrorLasts = 5 * time.Second

// Options are the dependencies of a Reconciler. Observer, Ledger and Archive may be nil: without a Ledger, rules whose policy has
// one delete nothing, and without an Archive, rules that archive delete nothing. The numbers have defaults.
type Options struct {
	Sources  Sources
	Remover  Remover
	Live     preflight.Live
	Ledger   Ledger
	Archive  Archive
	Clock    clock.WithDelayedExecution
	Observer Observer
	// IgnoreKind reports the kinds whose subjects another process deletes, such as images; nil for none.
	IgnoreKind func(schema.GroupKind) bool
	// Heartbeat beats at every step of the loop that enqueues due subjects; nil for none.
	Heartbeat *liveness.Heartbeat
	// Audit is called for each DELETE request that deleted a subject or may have; nil for none. It must not block.
	Audit func(Removal)
	// Tracer records one trace for each attempt to delete; nil for none.
	Tracer trace.Tracer

	MaxInFlight  int     // attempts in flight, for all kinds together; each kind may always have one; 0 means 16
	MaxPerSecond float64 // deletions per second; 0 means that only the API server limits the rate
}

// Observer is informed of attempts and deletions. It must not block.
type Observer interface {
	// Removed is called for each subject that was deleted.
	Removed(Removal)
	// Attempted is called with the result of each attempt for which a request was sent.
	Attempted(Result)
}

// Removal is one subject that was deleted, or that may be deleted.
type Removal struct {
	Kind    schema.GroupVersionKind
	Subject policy.Subject
	Owner   *policy.Owner // the owner that was deleted instead; nil if the subject was
	Rule    *policy.Rule
	Reason  policy.Reason
	Outcome string      // result of the rule's outcome expression; empty without one
	Size    policy.Size // of the subject, by that rule
	Due     time.Time
	At      time.Time // when the answer arrived

	// Policy is the policy of the rule as it was in force; nil if that is not known.
	Policy *policy.Policy
	// Target is the version that the request named: of the subject or of its owner.
	Target policy.Target
	// Receipt is that of the archived Target; the zero Receipt if the rule does not archive.
	Receipt policy.Receipt
	// Snapshot is that of the VolumeSnapshot of a claim; the zero SnapshotReceipt if the rule makes none.
	Snapshot policy.SnapshotReceipt
	// Unsure: the request had no definite answer.
	Unsure bool
	// InLedger: a ledger counts the deletion.
	InLedger bool
	TraceID  string // empty if the attempt is not traced
}

const defaultInFlight = 16

// noopObserver is the Observer of a Reconciler that has none.
type noopObserver struct{}

func (noopObserver) Removed(Removal)  {}
func (noopObserver) Attempted(Result) {}

// New returns a Reconciler without rules.
func New(o Options) *Reconciler {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = defaultInFlight
	}
	pace, failing := rate.NewLimiter(rate.Inf, 0), rate.NewLimiter(rate.Inf, 0)
	if o.MaxPerSecond > 0 {
		pace, failing = rate.NewLimiter(rate.Limit(o.MaxPerSecond), 1), rate.NewLimiter(rate.Limit(o.MaxPerSecond/10), 1)
	}
	if o.Observer == nil {
		o.Observer = noopObserver{}
	}
	if o.Ledger == nil {
		o.Ledger = noLedger{}
	}
	if o.Archive == nil {
		o.Archive = noArchive{}
	}
	return &Reconciler{
		Options:        o,
		deletionRate:   pace,
		slots:          newConcurrency(o.MaxInFlight),
		failingRate:    failing,
		throttledSlots: newConcurrency(o.MaxInFlight),
		ruled:          make(chan struct{}),
		done:           make(chan struct{}),
		snapshot:       &policy.Snapshot{},
		kinds:          map[schema.GroupKind]*watchedKind{},
	}
}

// Watch lists and watches the subjects of the rules, and deletes nothing, until ctx ends. A standby calls it before Start, so
// that the facts are known when it becomes the leader.
func (r *Reconciler) Watch(ctx context.Context) error {
	r.begin(ctx)
	<-ctx.Done()
	return nil
}

// Start deletes due subjects until ctx ends, and then waits for the deletions in flight. It begins after the first call of Use.
func (r *Reconciler) Start(ctx context.Context) error {
	defer close(r.done)
	if r.Ledger.Open(ctx) != nil {
		return nil // ctx has ended
	}
	r.lead()
	r.begin(ctx)
	defer r.tasks.Wait()
	defer r.end()
	select {
	case <-ctx.Done():
	case <-r.ruled:
		r.tick(ctx)
	}
	return nil
}

// Done returns a channel that is closed when Start has returned: no more deletions are sent.
func (r *Reconciler) Done() <-chan struct{} { return r.done }

// NeedLeaderElection returns true: only the leader deletes.
func (r *Reconciler) NeedLeaderElection() bool { return true }

// Began reports whether the ledgers are open, and the subjects are listed or being listed.
func (r *Reconciler) Began() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leads
}

// Known returns a function that reports whether a subject of any kind that is watched now is in an index. It may still be there for a
// moment after its deletion.
func (r *Reconciler) Known() func(types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var indexes []*index.Index
	for _, w := range r.kinds {
		indexes = append(indexes, w.index)
	}
	return func(uid types.UID) bool {
		return slices.ContainsFunc(indexes, func(x *index.Index) bool { _, known := x.Subject(uid); return known })
	}
}

// KindState is the state of one kind.
type KindState struct {
	Index       *index.Index
	Kind        schema.GroupVersionKind
	Lost        *SourceError // why the kind cannot be watched; nil if it can
	Undeletable *SourceError // why it cannot be deleted; nil if it can
	Unmarkable  *SourceError // why it cannot be marked; nil if it can, or if no rule marks
	Relisting   bool         // rules have changed, and some facts are missing until a list is complete
	Throttled   []string     // namespaces in which checks or requests are slow, or requests fail, in order; "" for cluster-scoped objects
	// Delays returns why due objects are kept although a policy tries to delete them; nil for none. Delayed is the number
	// of these objects, of which at most 100 of one namespace count.
	Delays  func(now time.Time) []Delay
	Delayed int
	// DelaysVersion increases when an obstacle has another reason or message.
	DelaysVersion uint64
	// Obstacles returns the obstacle of each of these objects: at most 100 of one namespace are remembered.
	Obstacles func() map[types.UID]Delay
}

// Kinds returns the state of every kind that has rules.
func (r *Reconciler) Kinds() []KindState {
	r.mu.Lock()
	defer r.mu.Unlock()
	states := make([]KindState, 0, len(r.kinds))
	for _, w := range r.kinds {
		if w.until.IsZero() {
			states = append(states, w.state())
		}
	}
	return states
}

// PreflightError returns why preflight stops deletions; nil if it does not.
func (r *Reconciler) PreflightError() error {
	d := r.preflightError.Load()
	if d == nil || r.Clock.Since(d.at) > preflightErrorLasts {
		return nil
	}
	return d.err
}

func (r *Reconciler) setPreflightError(err error) {
	switch {
	case err != nil:
		r.preflightError.Store(&preflightError{err: err, at: r.Clock.Now()})
	case r.preflightError.Load() != nil:
		r.preflightError.Store(nil)
	}
}
