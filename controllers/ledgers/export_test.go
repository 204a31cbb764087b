// SPDX-License-Identifier: Apache-2.0

package ledgers

import "k8s.io/apimachinery/pkg/types"

// Remembered returns the number of requests in memory for a policy, and how many of them are recorded and not sent.
func (m *Manager) Remembered(uid types.UID) (requests, standing int) {
	a := m.worker(uid)
	if a == nil {
		return 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests), a.unsent
}
