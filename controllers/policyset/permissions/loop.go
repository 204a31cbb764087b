package permissions

import (
	"context"
	"sync"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	lookEvery    = 10 * time.Second
	allowedEvery = time.Minute // between two questions about a right that is there
	tellEvery    = time.Second // while many new questions are asked
)

// Loop asks for the rights of every rule again and again, so that status tells of one that is missing before anything is
// due.
type Loop struct {
	*Checker
	// Rules are those to ask about.
	Rules func() []*policy.Rule
	// Changed is called soon after an answer has changed, also when another caller asked and when it has changed back.
	Changed func()
}

// Look makes the loop ask now for what it has no answer to. It never blocks.
func (l *Loop) Look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// NeedLeaderElection says that only the leader's answers are told.
func (l *Loop) NeedLeaderElection() bool { return true }

// Start asks until ctx ends. New questions do not wait until the known ones have been asked again.
func (l *Loop) Start(ctx context.Context) error {
	var asking sync.WaitGroup
	asking.Go(func() { l.askAgain(ctx) })
	defer asking.Wait()
	told, since := uint64(0), l.clock.Now()
	for ctx.Err() == nil {
		asked := l.askNew(ctx)
		if changes := l.changed(); changes != told && (!asked || l.clock.Since(since) >= tellEvery) {
			told, since = changes, l.clock.Now() // before the call: a change during the call leads to another one
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

// askNew asks about one rule without an answer in each namespace, and reports whether there was any.
func (l *Loop) askNew(ctx context.Context) (asked bool) {
	namespaces := map[string]bool{}
	for _, r := range l.Rules() {
		if _, known := l.Known(r); !known && !namespaces[r.Namespace] {
			namespaces[r.Namespace], asked = true, true
			_, _ = l.check(ctx, questionOf(r), 0)
		}
	}
	return asked
}

// askAgain asks about the other rules, over and over.
func (l *Loop) askAgain(ctx context.Context) {
	for ctx.Err() == nil {
		began := l.clock.Now()
		for _, r := range l.Rules() {
			if before, known := l.Known(r); known {
				maxAge := lookEvery / 2
				if before == nil {
					maxAge = allowedEvery
				}
				_, _ = l.check(ctx, questionOf(r), maxAge)
			}
		}
		l.prune(began)
		l.Look()
		select {
		case <-ctx.Done():
		case <-l.clock.After(lookEvery):
		}
	}
}
