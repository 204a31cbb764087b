// SPDX-License-Identifier: Apache-2.0

// Package rank keeps the ranking of one rule with keepNewest or capacity up to date while members are added and removed.
//
// It promises that after every call each member has the rank result of policy.Ranking.Rank, that a call returns exactly the
// members whose result it changed, and that a change costs O(log n).
//
// It does not decide what follows from a rank result, reads no clock and does not lock: its caller does.
package rank
