// SPDX-License-Identifier: Apache-2.0

// Package reports writes the Reports and ClusterReports that package policy/report encodes.
//
// It promises:
//
//   - Nothing waits for it: it has a loop of its own, and reads the facts in the same way as the count for the status.
//   - Only the leader writes, at most 60 reports a minute, and only reports that have changed.
//   - A report has its policy as owner, so that the garbage collector deletes it with the policy. The leader deletes reports that
//     have no content any more.
//   - While the objects of a kind are not listed, the reports of the policies about that kind stay as they are.
package reports
