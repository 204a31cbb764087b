// SPDX-License-Identifier: Apache-2.0

// Package check finds out whether Sunset is installed in a cluster and works: its kinds, the controller, its Lease, clocks,
// permissions, conditions of policies, admission and the agents on nodes.
//
// It only reads. If the user may not read something, the check is skipped, and says which permission is missing. A check about
// an optional part, or about a single policy, is at most a warning, unless Sunset lacks a permission.
package check
