package ledgers

import (
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// budget returns the limits of the policy; nil without limits.
func (a *worker) budget() *ledger.Budget {
	if a.policy == nil || a.policy.Limits == nil {
		return nil
	}
	return &ledger.Budget{Max: a.policy.Limits.Max, Window: a.policy.Limits.Window}
}

// State is the state of a policy's ledger.
type State struct {
	Ledger   *v1alpha1.RetentionLedger // as last read or written; nil if none exists. Do not change it
	Open     int64
	Doubtful int       // open entries whose deletion may already have happened, and whose objects are read
	Charged  int64     // deletions that count against limits
	FreeAt   time.Time // when limits permit another deletion; zero if they permit one now
	EasesAt  time.Time // when Charged falls without a write; zero if it does not
	Waiting  int       // subjects that wait to be recorded
	Unread   error     // why the objects of doubtful entries cannot be read; nil if they can
	Trouble  error     // why nothing can be recorded; nil if it can
}

func (a *worker) state(now time.Time) State {
	a.mu.Lock()
	defer a.mu.Unlock()
	budget := a.budget()
	return State{
		Ledger: a.machine.Stored(), Open: a.machine.Charged(now, nil), Doubtful: len(a.machine.Doubtful()), Charged: a.machine.Charged(now, budget),
		FreeAt: a.machine.FreeAt(now, budget), EasesAt: a.machine.EasesAt(now, budget), Waiting: a.line.len + len(a.parked), Unread: a.unread, Trouble: a.trouble,
	}
}
