// SPDX-License-Identifier: Apache-2.0

// Package settings reads the spec of a RetentionArchive, and checks all that can be checked without its store. The controller, the
// webhook and the command line share it, so that they find the same problems.
package settings
