// SPDX-License-Identifier: Apache-2.0

// Package upgrade has recordings of what earlier versions of Sunset wrote: objects of a cluster and the state of a node
// agent. Tests check that the current code continues from there, and that it leaves alone what only a newer version can
// understand.
package upgrade
