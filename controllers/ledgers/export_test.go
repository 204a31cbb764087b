package ledgers

import "k8s.io/apimachinery/pkg/types"

// Remembered is how many subjects an account has requests of, and how many of them it counts as about to be removed.
func (o *Manager) Remembered(uid types.UID) (requests, standing int) {
	a := o.account(uid)
	if a == nil {
		return 0, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests), a.standing
}
