// SPDX-License-Identifier: Apache-2.0

// Package playground answers the page of the playground: which objects policies would delete, and why. It calls the same
// packages as kubectl sunset preview and explain, so that the answers are the same.
//
// It runs in a browser, as WebAssembly. It links no client library, does no I/O and reads no clock: the page passes the time.
// Input may be hostile. A Session refuses input that is too large, and reports everything else as problems and errors.
package playground
