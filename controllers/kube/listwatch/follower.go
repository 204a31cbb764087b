// SPDX-License-Identifier: Apache-2.0

package listwatch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
)

// Follower keeps a store up to date with what the API server serves. All fields but Expected and Begin are required.
type Follower struct {
	Name          string // of the resource, for logs
	Clock         clock.Clock
	ListerWatcher cache.ListerWatcherWithContext
	Expected      any // an object of the type to watch; nil for any type
	Store         cache.ReflectorStore
	// Pages has the resource listed in pages: a stream takes the API server twice the CPU time, and a copy of all objects before it begins.
	// If no list succeeds, or the first watch after it does not last, the next one is a stream: pages may take too long.
	Pages inPages

	// Begin is called before each attempt to list and watch. end ends the attempt, and Failed is not called then.
	Begin func(end func())
	// Failed is called after each attempt with its error, which is nil if the API server closed the watch.
	Failed func(err error)

	reflector atomic.Pointer[cache.Reflector] // nil before Run
	watches   atomic.Int64                    // requests for a watch since the last list
	outage    atomic.Pointer[outage]          // the last one; nil for none
}

// outage is a time in which no watch could be opened, although lists may have succeeded.
type outage struct {
	began time.Time // of the first request, which may still be retried
	over  time.Time // zero while it lasts
}

const (
	// opensWithin is how long it may take to open a watch.
	opensWithin = time.Second
	// caughtUpAfter is how long after an outage the watch may still send earlier changes.
	caughtUpAfter = 5 * time.Second
)

// Interrupted reports whether earlier changes may be missing because no watch could be opened, now or a few seconds ago.
func (f *Follower) Interrupted() bool {
	switch last := f.outage.Load(); {
	case last == nil:
		return false
	case last.over.IsZero():
		return f.Clock.Since(last.began) > opensWithin
	default:
		return f.Clock.Since(last.over) < caughtUpAfter
	}
}

// Reached reports whether the store has all changes up to a resourceVersion.
func (f *Follower) Reached(version string) (bool, error) {
	reflector := f.reflector.Load()
	if reflector == nil || reflector.LastSyncResourceVersion() == "" {
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(reflector.LastSyncResourceVersion(), version)
	return order >= 0, err
}

// steadyAfter is how long a watch must last before earlier failures no longer increase the backoff.
const steadyAfter = 2 * time.Minute

// Run lists and watches, with backoff, until ctx ends or the API server no longer serves the resource. It always waits before it
// returns, so that a caller may call it again at once.
func (f *Follower) Run(ctx context.Context) {
	logger := log.FromContext(ctx)
	pages := f.Pages
	f.reflector.Store(f.newReflector(logger, pages))
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 7, Cap: 10 * time.Second}
	delay := backoff.DelayWithReset(f.Clock, steadyAfter)
	for ctx.Err() == nil {
		err := f.attempt(ctx, f.reflector.Load())
		if ctx.Err() != nil {
			return
		}
		logger.V(1).Info("watch ended", "kind", f.Name, "err", err)
		if f.Pages {
			pages = !pages || f.watches.Load() > 1
			f.reflector.Store(f.newReflector(logger, pages))
		}
		wake.Sleep(ctx, f.Clock, delay())
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return
		}
	}
}

func (f *Follower) newReflector(logger logr.Logger, pages inPages) *cache.Reflector {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			f.watches.Store(0)
			return f.ListerWatcher.ListWithContext(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			f.watches.Add(1)
			before := f.outage.Load()
			now := before
			if before == nil || !before.over.IsZero() {
				now = &outage{began: f.Clock.Now()}
				f.outage.Store(now)
			}
			w, err := f.ListerWatcher.WatchWithContext(ctx, options)
			switch {
			case err != nil:
			case f.Interrupted():
				f.outage.Store(&outage{began: now.began, over: f.Clock.Now()})
			case before == now:
				f.outage.Store(nil)
			default:
				f.outage.Store(before)
			}
			return w, err
		},
	}
	return cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, pages), f.Expected, f.Store, cache.ReflectorOptions{
		Name: f.Name, TypeDescription: f.Name, Clock: f.Clock, Logger: &logger,
	})
}

// inPages tells a Reflector whether to list in pages, instead of as a stream.
type inPages bool

// IsWatchListSemanticsUnSupported is what the Reflector calls.
func (p inPages) IsWatchListSemanticsUnSupported() bool { return bool(p) }

func (f *Follower) attempt(ctx context.Context, reflector *cache.Reflector) error {
	attempt, end := context.WithCancel(ctx)
	defer end()
	if f.Begin != nil {
		f.Begin(end)
	}
	err := reflector.ListAndWatchWithContext(attempt)
	if attempt.Err() == nil {
		f.Failed(err)
	}
	return err
}
