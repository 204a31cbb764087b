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

// Start asks until ctx ends.
func (l *Loop) Start(ctx context.Context) error {
	told := uint64(0)
	for {
		for _, r := range l.Rules() {
			l.look(ctx, r)
		}
		if changes := l.changed(); changes != told {
			told = changes // before the call: a change during the call leads to another one
			l.Changed()
		}
		l.prune()
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		case <-l.clock.After(lookEvery):
		}
	}
}

func (l *Loop) look(ctx context.Context, r *policy.Rule) {
	maxAge := lookEvery / 2
	if before, known := l.Known(r); known && before == nil {
		maxAge = allowedEvery
	}
	_, _ = l.check(ctx, questionOf(r), maxAge)
}
