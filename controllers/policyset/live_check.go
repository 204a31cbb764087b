// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/process/lockorder"
	"github.com/sunset-k8s/sunset/controllers/process/skew"
	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	readTimeout = 3 * time.Second // of one live read; the state that it returns may be this old
	liveTimeout = 2 * readTimeout // of all live reads for one deletion
	// confirmEvery is how often to read live while a cache lacks objects that a live read has returned.
	confirmEvery = 5 * time.Second
)

var (
	errNotRead = errors.New("policies and namespaces have not been read yet")
	errRewound = errors.New("the resourceVersions of the API server went back, for example after a restore of etcd; the controller restarts and relists everything")

	errPartial  = errors.New("incomplete list response")
	errOther    = errors.New("the API server returned another object")
	errBehind   = errors.New("the response to GET is older than the response to LIST")
	errDisagree = errors.New("object missing from LIST but returned by GET")
)

// freshness records when live reads last confirmed the state in memory. A response counts from its arrival.
type freshness struct {
	reading lockorder.Mutex[lockorder.Reading] // held during reads, so that waiting callers share one read

	mu         lockorder.Mutex[lockorder.Freshness] // guards the fields that follow except clocks; not held during reads
	policies   []time.Time                          // by collection; nil for never
	namespaces map[string]liveResult
	everything time.Time           // when all namespaces were read
	unread     map[string][]unread // by namespace
	later      sets.Set[types.UID] // policies that are being read in the background
	clocks     skew.Clocks
}

// Check implements preflight.Live. If the policies or the namespace were last read more than a second ago, it reads them live
// and puts changes in force before it returns.
func (l *Reconciler) Check(ctx context.Context, namespace string) (since time.Time, err error) {
	if err := l.Leadership.Check(); err != nil {
		return since, err
	}
	since, err = l.checkLive(ctx, namespace)
	if errors.Is(err, errCompiling) || errors.Is(err, errPublishing) { // without a lock, so that checks of other namespaces do not wait
		l.settleFor(namespace)
		wait, cancel := context.WithTimeout(ctx, compileWait)
		defer cancel()
		if err = l.awaitCompiled(wait, func() error { return cmp.Or(l.unreadIn(namespace), l.compilingFor(namespace)) }); err == nil {
			since, err = l.checkLive(ctx, namespace)
		}
	}
	if err != nil {
		return since, err
	}
	return since, l.Leadership.Check() // leadership may have been lost during the reads
}

// Prefetch implements preflight.Live. Deletions that do not need its results do not wait for it.
func (l *Reconciler) Prefetch(ctx context.Context, namespace string, at time.Time) {
	if l.Leadership.Check() == nil && l.Complete() {
		_ = l.refresh(ctx, namespace, at) // the next Check reports the error
	}
}

func (l *Reconciler) checkLive(ctx context.Context, namespace string) (since time.Time, err error) {
	if !l.Complete() {
		return since, errNotRead
	}
	since, err = l.answerFor(namespace)
	if !l.fresh(since) {
		if err := l.refresh(ctx, namespace, l.Clock.Now()); err != nil {
			return since, err
		}
		since, err = l.answerFor(namespace)
	}
	if err := l.live.clocks.Err(); err != nil {
		return since, err
	}
	return since, cmp.Or(err, l.compilingFor(namespace))
}

// answerFor returns why nothing may be deleted in a namespace ("" for cluster-scoped objects), by the latest live reads. since
// is when the oldest of the responses arrived; zero if one is missing.
func (l *Reconciler) answerFor(namespace string) (since time.Time, err error) {
	bound := l.boundByQuotas(namespace)
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	answers := slices.Clone(l.live.policies)
	if answers == nil {
		return time.Time{}, nil
	}
	if namespace != "" {
		answers = append(answers, l.live.namespaceRead(namespace))
	}
	if bound {
		answers = append(answers, l.quotasRead(namespace))
	}
	since = slices.MinFunc(answers, time.Time.Compare)
	a, ok := l.live.namespaces[namespace]
	switch unread := l.live.unreadIn(namespace); {
	case unread != nil:
		return since, unread
	case ok || namespace == "":
		return since, a.err
	default:
		return since, l.existing(namespace)
	}
}

// namespaceRead returns when the latest response about a namespace arrived, from a GET or from a list of all.
func (f *freshness) namespaceRead(name string) time.Time {
	return slices.MaxFunc([]time.Time{f.namespaces[name].at, f.everything}, time.Time.Compare)
}

// refresh reads in parallel everything that is not fresh at a time. It then reads once more what is no longer fresh. Afterwards
// no result is older than the duration of the other reads.
func (l *Reconciler) refresh(ctx context.Context, namespace string, at time.Time) error {
	l.live.reading.Lock()
	defer l.live.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	for round := range 2 {
		at = slices.MaxFunc([]time.Time{at, l.Clock.Now()}, time.Time.Compare)
		reads := l.stale(ctx, namespace, at)
		if len(reads) == 0 {
			return nil
		}
		if round == 0 {
			l.live.clocks.Begin(l.fresh)
		}
		err := together(reads...)
		l.settleFor(namespace)
		if err != nil {
			return err
		}
	}
	if l.lacksQuotas(namespace, l.Clock.Now()) { // because of an edit that the second round has shown
		l.readQuotasOf(ctx, namespace)
		l.settleFor(namespace)
	}
	return nil
}

// stale returns the reads of everything that is not fresh at a time.
func (l *Reconciler) stale(ctx context.Context, namespace string, at time.Time) (reads []func() error) {
	if !l.knowsPolicies(at) {
		reads = append(reads, func() error { return l.readPolicies(ctx, namespace, at) })
	}
	if !l.answered(namespace, at) {
		reads = append(reads, func() error { return l.readNamespaces(ctx, namespace) })
	}
	if l.lacksQuotas(namespace, at) {
		reads = append(reads, func() error { l.readQuotasOf(ctx, namespace); return nil })
	}
	return reads
}

// together runs reads in parallel, and returns the first error in the order of the reads.
func together(reads ...func() error) error {
	return cmp.Or(each(len(reads), func(i int) error { return reads[i]() })...)
}

// askedAtOnce limits the concurrent requests of each.
const askedAtOnce = 16

// each calls read for the numbers below n, in parallel, and returns the error of each call.
func each(n int, read func(i int) error) []error {
	failed := make([]error, n)
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i := range n {
		group.Go(func() error {
			failed[i] = read(i)
			return nil
		})
	}
	_ = group.Wait()
	return failed
}

// confirm reads policies and namespaces live, even if the last read is still fresh.
func (l *Reconciler) confirm(ctx context.Context) error {
	l.live.reading.Lock()
	defer l.live.reading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	l.live.keep(nil)
	l.live.clocks.Begin(l.fresh)
	defer l.settleFor("")
	return together(
		func() error { return l.readPolicies(ctx, "", l.Clock.Now()) },
		func() error { return l.readAllNamespaces(ctx) },
	)
}

// Complete reports whether policies and namespaces have been read and are in force.
func (l *Reconciler) Complete() bool { return l.incomplete() == nil }

func (l *Reconciler) incomplete() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.complete {
		return nil
	}
	return errNotRead
}

// fresh reports whether a response that arrived at t still counts.
func (l *Reconciler) fresh(t time.Time) bool { return preflight.Fresh(l.Clock.Now(), t) }

// Permit implements preflight.Live.
func (l *Reconciler) Permit(ctx context.Context, rule *policy.Rule) (since time.Time, err error) {
	if rule.Namespace == "" {
		return l.Clock.Now(), nil
	}
	return l.Permissions.Check(ctx, rule)
}

// PermitOwner implements preflight.Live.
func (l *Reconciler) PermitOwner(ctx context.Context, rule *policy.Rule, owner *policy.Owner) (since time.Time, err error) {
	if rule.Namespace == "" {
		return l.Clock.Now(), nil
	}
	return l.Permissions.CheckOwner(ctx, rule, owner.Kind)
}
