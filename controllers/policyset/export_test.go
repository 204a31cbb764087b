// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"errors"
)

// ManyNamespaces is how many namespaces are read one by one.
const ManyNamespaces = manyNamespaces

// FollowQuotas reads ResourceQuotas until ctx ends.
var FollowQuotas = (*Reconciler).followQuotas

// FollowClock compares the clocks until ctx ends.
var FollowClock = (*Reconciler).followClock

// Respecified passes relevant updates of a policy.
var Respecified = respecified

// Compiled waits until every policy that was edited is compiled, and every change is in force.
func Compiled(ctx context.Context, l *Reconciler) error {
	return l.awaitCompiled(ctx, func() error {
		l.live.mu.Lock()
		later := len(l.live.later)
		l.live.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if later > 0 || l.compiling.running[true] || l.compiling.running[false] || l.complete && (!l.changes.none() || l.changes.applied != nil) {
			return errCompiling
		}
		return nil
	})
}

// IsCompiling reports whether a check has failed because a change was not in force in time.
func IsCompiling(err error) bool {
	return errors.Is(err, errCompiling) || errors.Is(err, errPublishing)
}

// Marks returns the number of rules for which it is known which marks count.
func Marks(l *Reconciler) int {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	return len(l.marking)
}
