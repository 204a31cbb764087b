// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"time"

	"github.com/sunset-k8s/sunset/policy/ledger"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// budget returns the limits of the policy; nil without limits.
func (w *worker) budget() *ledger.Budget {
	if w.policy == nil || w.policy.Limits == nil {
		return nil
	}
	return &ledger.Budget{Max: w.policy.Limits.Max, Window: w.policy.Limits.Window}
}

// fits reports whether limits permit all deletions that wait to be recorded, and some more.
func (w *worker) fits(more int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	budget := w.budget()
	return budget == nil || w.machine.Charged(w.manager.Clock.Now(), budget)+int64(w.queue.len+len(w.parked)+more) <= budget.Max
}

// State is the state of a policy's ledger.
type State struct {
	Ledger     *v1alpha1.RetentionLedger // as last read or written; nil if none exists. Do not change it
	Rebases    int                       // how often the counts have changed otherwise than by entries that ended: do not take differences across such a change
	Open       int64
	Doubtful   int       // open entries whose deletion may already have happened, and whose objects are read
	Charged    int64     // deletions that count against limits
	FreeAt     time.Time // when limits permit another deletion; zero if they permit one now
	EasesAt    time.Time // when Charged falls without a write; zero if it does not
	Waiting    int       // subjects that wait to be recorded
	ReadError  error     // why the objects of doubtful entries cannot be read; nil if they can
	WriteError error     // why nothing can be recorded; nil if it can
}

func (w *worker) state(now time.Time) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	budget := w.budget()
	return State{
		Ledger: w.machine.Stored(), Rebases: w.rebases, Open: w.machine.Charged(now, nil), Doubtful: len(w.machine.Doubtful()), Charged: w.machine.Charged(now, budget),
		FreeAt: w.machine.FreeAt(now, budget), EasesAt: w.machine.EasesAt(now, budget), Waiting: w.queue.len + len(w.parked), ReadError: w.readErr, WriteError: w.writeErr,
	}
}
