package rights

import (
	"context"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	lookEvery    = 10 * time.Second
	allowedEvery = time.Minute // between two questions about a right that is there
)

// Loop asks for the rights of every rule again and again, so that status tells of one that is missing before anything is
// due.
type Loop struct {
	*Checker
	// Rules are those to ask about.
	Rules func() []*policy.Rule
	// Changed is called when an answer has changed.
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

// Start asks until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	for {
		for _, r := range l.Rules() {
			l.look(ctx, r)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		case <-l.clock.After(lookEvery):
		}
	}
}

func (l *Loop) look(ctx context.Context, r *policy.Rule) {
	before, known := l.Known(r)
	maxAge := lookEvery / 2
	if known && before == nil {
		maxAge = allowedEvery
	}
	after := l.check(ctx, questionOf(r), maxAge)
	if !known || (before == nil) != (after == nil) || before != nil && before.Error() != after.Error() {
		l.Changed()
	}
}
