// SPDX-License-Identifier: Apache-2.0

// Package manager creates the control loops of the controller, connects and starts them, and serves health, metrics and the
// webhook. Config.add is the place where a loop gets its dependencies: the Subscribers of policyset.Reconciler get each
// snapshot of the policies, in order, and one retention.Reconciler deletes the objects of all kinds.
//
// It promises that only the leader deletes, and that at a shutdown the work in flight ends before the Lease is released.
//
// It refuses to decide anything. docs/contributing/design.md#packages lists the loops and the other packages.
package manager
