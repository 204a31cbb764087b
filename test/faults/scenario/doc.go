// SPDX-License-Identifier: Apache-2.0

// Package scenario sets up one fault scenario: its own namespaces and policies on a real control plane with two API servers,
// replicas of the controller as processes behind one proxy each, and a check at its end.
//
// It promises: the replicas of a scenario see only its policies, so that scenarios can run side by side. When the test ends,
// the package stops the replicas and checks everything that they did against the API server's audit log and etcd's history. A
// run is void if an expected fault never fired: it is repeated once. A failed run prints the command that repeats it.
//
// A scenario that disturbs whole servers cannot share its control plane (see [Options.Alone]).
package scenario
