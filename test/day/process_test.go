// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	k8sclock "k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/archives"
	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/ledgers"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// process is one Sunset with the real reconciler, ledgers and archives. The test is its manager: it sets the policies, and records ledgers
// in statuses.
type process struct {
	*day
	reconciler *retention.Reconciler
	ledgers    *ledgers.Manager
	archives   *archives.Manager
	began      time.Time
	clock      skewed
	dead       atomic.Bool // its requests do not arrive any more
	ended      sync.WaitGroup
	cancel     context.CancelFunc
	changed    chan struct{}

	mu      sync.Mutex
	marking map[string]time.Time // for each rule, since when its marks count
}

// skewed is a clock with a constant error.
type skewed struct {
	k8sclock.RealClock
	by time.Duration
}

func (c skewed) Now() time.Time                  { return time.Now().Add(c.by) }
func (c skewed) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// start starts a process.
func (d *day) start(skew time.Duration) *process {
	p := &process{day: d, began: time.Now(), clock: skewed{by: skew}, changed: make(chan struct{}, 1)}
	d.latest.Store(p)
	config, requests := &rest.Config{Host: "http://server"}, &http.Client{Transport: p}
	cluster, err := kube.New(kube.Options{Config: config, HTTP: requests, Mapper: mapper(), Clock: p.clock, Compiler: d.compiler})
	if err != nil {
		panic(err)
	}
	objects, err := archives.NewCluster(config, requests, mapper())
	if err != nil {
		panic(err)
	}
	d.processes++
	own := client.Client(storage{Client: d.stored, process: p})
	p.ledgers = ledgers.New(ledgers.Options{
		Client: own, Live: own, Objects: cluster, Leadership: p, Clock: p.clock, Identity: fmt.Sprintf("sunset-%d", d.processes),
	})
	p.archives = archives.New(archives.Options{
		Cache: onlyHistory{}, Client: onlyHistory{}, Live: own, Objects: objects, Leadership: leading{p}, Clock: p.clock, Open: p.open,
	})
	p.reconciler = retention.New(retention.Options{
		Sources: cluster, Remover: cluster, Live: preflightLive{p}, Ledger: p.ledgers, Archive: p.archives, Clock: p.clock, MaxInFlight: 8,
	})
	check := func(context.Context) error { return p.preflightError() }
	p.ledgers.Decider = ledgers.Decider{
		Known: p.reconciler.Known, Changed: p.nudge, Stopped: p.archives.Done(), Check: check, Archives: p.archives,
	}
	p.archives.Decider = archives.Decider{Expected: p.reconciler.Expected, Stopped: p.reconciler.Done(), Check: check}
	ctx, cancel := context.WithCancel(log.IntoContext(d.Context(), logr.Discard()))
	p.cancel = cancel
	p.use()
	p.ended.Go(func() { _ = p.reconciler.Start(ctx) })
	p.ended.Go(func() { _ = p.archives.Start(ctx) })
	p.ended.Go(func() {
		if err := p.ledgers.Start(ctx); err != nil && !errors.Is(err, ledger.ErrDeposed) {
			d.Errorf("the ledgers ended with %v", err)
		}
	})
	p.ended.Go(func() { p.report(ctx, own) })
	return p
}

// use applies the current plan.
func (p *process) use() {
	p.mu.Lock()
	defer p.mu.Unlock()
	snapshot, programs := p.model.plan().read(p.compiler)
	first := p.marking == nil
	before := p.marking
	p.marking = map[string]time.Time{}
	for _, r := range snapshot.Rules(previews.GroupKind()) {
		since, known := before[r.Mark]
		if !known && r.Mode == v1alpha1.Enforce {
			known = true
			if !first {
				since = p.clock.Now()
			}
		}
		if known {
			p.marking[r.Mark] = since
		}
		r.MarksSince = since
	}
	p.ledgers.Use(snapshot)
	p.archives.Use(snapshot)
	p.reconciler.Use(snapshot, programs)
	p.nudge()
}

func (p *process) nudge() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// report records the ledger in the status of its policy.
func (p *process) report(ctx context.Context, c client.Client) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		case <-time.After(10 * time.Second):
		}
		l, s := &v1alpha1.RetentionLedger{}, &v1alpha1.ClusterRetentionPolicy{}
		if c.Get(ctx, types.NamespacedName{Name: string(snapshotsUID)}, l) != nil || c.Get(ctx, types.NamespacedName{Name: "snapshots"}, s) != nil {
			continue
		}
		if s.Status.Ledger == nil {
			s.Status.Ledger = &v1alpha1.LedgerStatus{Name: l.Name}
			if c.Status().Update(ctx, s) != nil {
				continue
			}
		}
		p.ledgers.Recorded(snapshotsUID)
	}
}

// stop ends a process as a manager does; kill ends it in the middle of its work.
func (p *process) stop() {
	p.cancel()
	p.ended.Wait()
	p.settle()
}

func (p *process) kill() {
	p.dead.Store(true)
	p.stop()
}

// Check implements ledgers.Leadership: it fails after the process was killed.
func (p *process) Check() error {
	if p.dead.Load() {
		return errCut
	}
	return nil
}

// preflightLive is the process's preflight.
type preflightLive struct{ *process }

var errDoubt = errors.New("policies cannot be read")

func (p *process) preflightError() error {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if p.dead.Load() || !p.doubted.IsZero() {
		return errDoubt
	}
	return nil
}

// Check implements preflight.Live.
func (f preflightLive) Check(context.Context, string) (time.Time, error) {
	return f.clock.Now(), f.preflightError()
}

// Prefetch implements preflight.Live.
func (f preflightLive) Prefetch(context.Context, string, time.Time) {}

// Permit implements preflight.Live.
func (f preflightLive) Permit(context.Context, *policy.Rule) (time.Time, error) {
	return f.clock.Now(), nil
}

// PermitOwner implements preflight.Live.
func (f preflightLive) PermitOwner(context.Context, *policy.Rule, *policy.Owner) (time.Time, error) {
	return f.clock.Now(), nil
}

// storage stores ledgers, as one process reaches it.
type storage struct {
	client.Client
	process *process
}

// ask does a request with delays, which may fail before or after the request is stored.
func (s storage) ask(do func() error) error {
	s.process.server.wait(20 * time.Millisecond)
	if s.process.dead.Load() {
		return errCut
	}
	if s.process.server.chance(3) {
		return apierrors.NewInternalError(errors.New("injected failure"))
	}
	err := do()
	s.process.server.wait(20 * time.Millisecond)
	if s.process.dead.Load() || s.process.server.chance(3) {
		return errLost
	}
	return err
}

func (s storage) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return s.ask(func() error { return s.Client.Get(ctx, key, o, options...) })
}

func (s storage) List(ctx context.Context, l client.ObjectList, options ...client.ListOption) error {
	return s.ask(func() error { return s.Client.List(ctx, l, options...) })
}

func (s storage) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	o.SetUID("uid-of-" + types.UID(o.GetName()))
	return s.ask(func() error { return s.Client.Create(ctx, o, options...) })
}

func (s storage) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	return s.ask(func() error { return s.Client.Update(ctx, o, options...) })
}
