// SPDX-License-Identifier: Apache-2.0

// Package build builds the controller for tests: unmodified, with the race detector, with a clock that a test can set, as a
// mutant without one of its safety mechanisms, and from an earlier commit.
//
// It promises to build each of these once per test process. The product has no switch that disables its safety mechanisms.
// Therefore the package applies patches to its sources (`go build -overlay`); if a patch no longer fits, the error says
// where.
//
// It does not change a file of the repository.
package build
