// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

// Lookup implements retention.Ledger.
func (m *Manager) Lookup(i policy.Intent) (policy.Target, bool) {
	if w := m.worker(i.Rule.PolicyUID); w != nil {
		return w.targetOf(i)
	}
	return policy.Target{}, false
}

// Reserve implements retention.Ledger. Without a worker for the policy nothing is recorded or deleted: the snapshot that
// brings the policy has the subject evaluated again.
func (m *Manager) Reserve(i policy.Intent, t policy.Target, c retention.Candidate) {
	if w := m.worker(i.Rule.PolicyUID); w != nil {
		w.reserve(i, t, c)
	}
}

// MarkSent implements retention.Ledger.
func (m *Manager) MarkSent(i policy.Intent, t policy.Target) bool {
	w := m.worker(i.Rule.PolicyUID)
	return w != nil && w.markSent(i, t)
}

// Finish implements retention.Ledger. A deletion by a rule that archives is counted after its record has the result.
func (m *Manager) Finish(i policy.Intent, t policy.Target, outcome retention.Outcome) {
	w, answer := m.worker(i.Rule.PolicyUID), answerOf(outcome)
	switch {
	case w == nil:
	case m.Archives != nil && i.Rule.Archive != nil && (answer == ledger.Deleted || answer == ledger.NotThere):
		m.Archives.Written(i.Rule.Archive.To, func() { w.answered(i, t, answer) })
	default:
		w.answered(i, t, answer)
	}
}

// Withdraw implements retention.Ledger.
func (m *Manager) Withdraw(i policy.Intent) {
	if w := m.worker(i.Rule.PolicyUID); w != nil {
		w.putOff(i)
	}
}
