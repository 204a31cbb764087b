// SPDX-License-Identifier: Apache-2.0

// Package site builds the static files for browsers: the playground, and the documentation with the playground and reports of the
// samples in it.
//
// It builds in the cache of the user, and builds again only after a change of what it reads. The same sources give the same files.
// It runs go, node, npm and zstd; npm downloads the packages that the lock files pin. Each program has a time limit. If the context of a
// function ends, the function ends the programs and the processes that they have started.
package site
