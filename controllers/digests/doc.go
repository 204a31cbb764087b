// SPDX-License-Identifier: Apache-2.0

// Package digests sends the digests of RetentionDigests.
//
// It promises:
//
//   - Each digest is sent at least once. The status records that it was accepted after the receiver has accepted it. After a crash
//     between the two, it is sent again with the same ID.
//   - Receivers delay no deletion: nothing waits for this package, and each attempt has a deadline.
//   - Only the leader sends.
//   - It connects to no forbidden address, follows no redirect, and shows no content of responses. See digest.Forbidden.
package digests
