package permissions

import (
	"context"
	"sync"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	refreshEvery = 10 * time.Second
	allowedEvery = time.Minute // between two requests for a permission that is granted
	changedEvery = time.Second // minimum interval between calls of Changed while many new questions are asked
)

// Refresher checks the permissions of every rule periodically, so that the status shows a missing permission before anything is due.
type Refresher struct {
	*Checker
	// Rules returns the rules to check.
	Rules func() []*policy.Rule
	// Changed is called soon after an answer has changed, also if another caller requested it, and if it has changed back.
	Changed func()
}

// Refresh makes the loop request missing answers now. It never blocks.
func (l *Refresher) Refresh() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// NeedLeaderElection returns true: only the leader reports the answers.
func (l *Refresher) NeedLeaderElection() bool { return true }

// Start checks permissions until ctx ends. New questions do not wait for the periodic checks of known ones.
func (l *Refresher) Start(ctx context.Context) error {
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
		case <-l.wake:
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
			_, _ = l.check(ctx, questionOf(r), 0)
		}
	}
	return asked
}

// askAgain requests the answers for the other rules periodically.
func (l *Refresher) askAgain(ctx context.Context) {
	for ctx.Err() == nil {
		began := l.clock.Now()
		for _, r := range l.Rules() {
			if before, known := l.Known(r); known {
				maxAge := refreshEvery / 2
				if before == nil {
					maxAge = allowedEvery
				}
				_, _ = l.check(ctx, questionOf(r), maxAge)
			}
		}
		l.prune(began)
		l.Refresh()
		select {
		case <-ctx.Done():
		case <-l.clock.After(refreshEvery):
		}
	}
}
