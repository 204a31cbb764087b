package ledgers

import (
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// budget is what limits let go; nil without limits.
func (a *worker) budget() *ledger.Budget {
	if a.policy == nil || a.policy.Limits == nil {
		return nil
	}
	return &ledger.Budget{Max: a.policy.Limits.Max, Window: a.policy.Limits.Window}
}

// State is how a policy's ledger stands.
type State struct {
	Ledger   *v1alpha1.RetentionLedger // as last read or written; nil while there is none. Not to be changed
	Open     int64
	Doubtful int       // of those open: how many may have happened already, and are looked at
	Charged  int64     // against limits
	FreeAt   time.Time // when limits let something go again; zero if they do
	EasesAt  time.Time // when Charged falls by itself; zero if it does not
	Waiting  int       // how many subjects wait to be written down
	Unread   error     // why the objects of doubtful entries cannot be read; nil if they can
	Trouble  error     // why nothing can be written down; nil when it can
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
