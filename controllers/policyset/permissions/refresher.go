// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	refreshEvery = 10 * time.Second
	allowedEvery = time.Minute // between two requests for a permission that is granted
	changedEvery = time.Second // minimum interval between calls of Changed while many new questions are asked

	discoverEvery = time.Minute // between two requests for the kinds that the API server serves
)

// Refresher checks the permissions of every rule periodically, so that the status shows a missing permission before anything is due.
// It also finds the preferred version of every rule's kind.
type Refresher struct {
	*Checker
	// Discover asks the API server which kinds it serves, and which versions it prefers.
	Discover func(context.Context) (meta.RESTMapper, error)
	// Rules returns the rules to check.
	Rules func() []*policy.Rule
	// Changed is called soon after an answer has changed, also if another caller requested it, and if it has changed back.
	Changed func()
	// OnStandby starts the loop before this process leads.
	OnStandby bool
}

// Refresh makes the loop request missing answers now. It never blocks.
func (l *Refresher) Refresh() { l.wake.Send() }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (l *Refresher) NeedLeaderElection() bool { return !l.OnStandby }

// Start checks permissions until ctx ends. New questions do not wait for the periodic checks of known ones.
func (l *Refresher) Start(ctx context.Context) error {
	_ = l.discover(ctx) // askAgain repeats it
	var asking sync.WaitGroup
	asking.Go(func() { l.askAgain(ctx) })
	defer asking.Wait()
	reported, since := uint64(0), l.clock.Now()
	for ctx.Err() == nil {
		asked := l.askNew(ctx)
		if changes := l.changed(); changes != reported && (!asked || l.clock.Since(since) >= changedEvery) {
			reported, since = changes, l.clock.Now() // before the call: a change during the call causes another one
			l.Changed()
		}
		if asked {
			continue
		}
		select {
		case <-ctx.Done():
		case <-l.wake.C():
		}
		since = l.clock.Now()
	}
	return nil
}

// askNew requests the answer for one new rule in each namespace, and reports whether there was any.
func (l *Refresher) askNew(ctx context.Context) (asked bool) {
	namespaces := map[string]bool{}
	for _, r := range l.Rules() {
		if _, known := l.Known(r); !known && !namespaces[r.Namespace] {
			namespaces[r.Namespace], asked = true, true
			for _, q := range questionsOf(r) {
				_, _ = l.check(ctx, q, 0)
			}
		}
	}
	return asked
}

// askAgain requests the answers for the other rules periodically.
func (l *Refresher) askAgain(ctx context.Context) {
	discovered := l.clock.Now()
	for ctx.Err() == nil {
		began := l.clock.Now()
		if began.Sub(discovered) >= discoverEvery || !l.hasDiscovered() {
			if l.discover(ctx) == nil {
				discovered = began
			}
		}
		for _, r := range l.Rules() {
			if before, known := l.Known(r); known {
				maxAge := refreshEvery / 2
				if before == nil {
					maxAge = allowedEvery
				}
				for _, q := range questionsOf(r) {
					_, _ = l.check(ctx, q, maxAge)
				}
			}
		}
		l.prune(began)
		l.Refresh()
		wake.Sleep(ctx, l.clock, refreshEvery)
	}
}

// hasDiscovered reports whether the API server has ever answered which kinds it serves.
func (l *Refresher) hasDiscovered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served != nil
}

// discover asks which kinds the API server serves, and finds the preferred versions of the rules' kinds. After an error, the last
// ones count.
func (l *Refresher) discover(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	served, err := l.Discover(asking)
	if err != nil {
		return err
	}
	rules := l.Rules()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.served = served
	for _, r := range rules {
		if l.prefers(policy.StoredAs(r.Kind)) {
			l.changes++
		}
	}
	return nil
}
