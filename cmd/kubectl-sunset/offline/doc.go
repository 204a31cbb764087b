// SPDX-License-Identifier: Apache-2.0

// Package offline decides about objects in files, without a cluster: for kubectl sunset preview and explain, and for the
// playground, so that they cannot differ.
//
// It neither reads a clock nor writes anything: the caller passes the time, and shows the notes.
package offline
