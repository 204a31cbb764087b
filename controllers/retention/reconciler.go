package retention

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// Reconciler keeps an index of the subjects of all rules, and deletes those that are due. Create it with New, pass it the rules with Use,
// and Start it.
type Reconciler struct {
	Options
	pace  *rate.Limiter
	slots *concurrency

	failing *rate.Limiter // of attempts in namespaces where they fail: a tenth of the pace
	beside  *concurrency  // of attempts in throttled namespaces
	given   atomic.Int64  // attempts that have given up their worker slots

	wake chan struct{}
	done chan struct{}

	mu       lockorder.Mutex[lockorder.Retention]
	running  context.Context // nil until Start; what feeds live in
	feeds    sync.WaitGroup  // and pipelines, and the prefetch
	listings uint64
	snapshot *policy.Snapshot
	programs map[string]*engine.Program
	kinds    map[schema.GroupKind]*watchedKind

	doubt       atomic.Pointer[doubt]
	prefetching atomic.Bool
}

// doubt is why preflight stopped a deletion, and when.
type doubt struct {
	err error
	at  time.Time
}

// doubtLasts is how long a doubt counts: the subjects that it stopped are retried sooner, and renew it.
const doubtLasts = 5 * time.Second

// Options is what a Reconciler is made of. Observer and Ledger may be nil: without a Ledger, rules whose policy has one delete nothing.
// Numbers have defaults.
type Options struct {
	Sources  Sources
	Remover  Remover
	Live     preflight.Live
	Ledger   Ledger
	Clock    clock.Clock
	Observer Observer
	// IgnoreKind reports the kinds whose subjects another process deletes, such as images; nil for none.
	IgnoreKind func(schema.GroupKind) bool
	// Heartbeat beats at every step of the loop that enqueues due subjects; nil for none.
	Heartbeat *liveness.Heartbeat

	MaxInFlight  int     // attempts under way at a time, in all; each kind may always have one; 0 means 16
	MaxPerSecond float64 // deletions per second; 0 means as fast as the API server permits
}

// Observer is informed of attempts and deletions. It must not block.
type Observer interface {
	// Removed is called for each subject that was deleted.
	Removed(Removal)
	// Attempted is called with the result of each attempt for which a request was sent.
	Attempted(Result)
}

// Removal is one subject that was deleted.
type Removal struct {
	Kind    schema.GroupVersionKind
	Subject policy.Subject
	Owner   *policy.Owner // the owner that was deleted instead; nil if the subject itself was
	Rule    *policy.Rule
	Reason  policy.Reason
	Outcome string // result of the rule's outcome expression; empty without one
	Due     time.Time
	At      time.Time // when the answer came
}

const defaultInFlight = 16

// noopObserver is the Observer of a Reconciler that has none.
type noopObserver struct{}

func (noopObserver) Removed(Removal)  {}
func (noopObserver) Attempted(Result) {}

// New makes a Reconciler that knows no rules.
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
	return &Reconciler{
		Options:  o,
		pace:     pace,
		slots:    newConcurrency(o.MaxInFlight),
		failing:  failing,
		beside:   newConcurrency(o.MaxInFlight),
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		snapshot: &policy.Snapshot{},
		kinds:    map[schema.GroupKind]*watchedKind{},
	}
}

// Start runs until ctx ends, then waits for the deletions under way.
func (r *Reconciler) Start(ctx context.Context) error {
	defer close(r.done)
	if r.Ledger.Open(ctx) != nil {
		return nil // ctx has ended
	}
	r.begin(ctx)
	r.tick(ctx)
	r.feeds.Wait()
	return nil
}

// Done is closed when Start has returned: nothing is deleted any more.
func (r *Reconciler) Done() <-chan struct{} { return r.done }

// NeedLeaderElection says that only the leader deletes.
func (r *Reconciler) NeedLeaderElection() bool { return true }

// Began reports whether the subjects are listed, or being listed. That begins once the ledgers are open.
func (r *Reconciler) Began() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running != nil
}

// Knows reports whether a subject of any kind is in an index, which may be so for a moment after its deletion.
func (r *Reconciler) Knows(uid types.UID) bool {
	for _, k := range r.Kinds() {
		if _, known := k.Index.Subject(uid); known {
			return true
		}
	}
	return false
}

// KindState is the state of one kind.
type KindState struct {
	Index       *index.Index
	Kind        schema.GroupVersionKind
	Lost        *SourceError // why the kind cannot be watched; nil when it can
	Undeletable *SourceError // why it cannot be deleted; nil when it can
	Unmarkable  *SourceError // why it cannot be marked; nil when it can, or no rule marks
	Relisting   bool         // rules have changed, and some facts are still missing
	Throttled   []string     // namespaces in which checks or requests are slow, or requests fail, in order; "" for objects without one
	// Delays says why Delayed objects that are due stay though a policy tries to delete them; nil for none.
	Delays  func(now time.Time) []Delay
	Delayed int
}

// Kinds gives the state of every kind that rules are about.
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

// Doubt says why preflight stops deletions; nil when it does not.
func (r *Reconciler) Doubt() error {
	d := r.doubt.Load()
	if d == nil || r.Clock.Since(d.at) > doubtLasts {
		return nil
	}
	return d.err
}

func (r *Reconciler) setDoubt(err error) {
	switch {
	case err != nil:
		r.doubt.Store(&doubt{err: err, at: r.Clock.Now()})
	case r.doubt.Load() != nil:
		r.doubt.Store(nil)
	}
}
