// SPDX-License-Identifier: Apache-2.0

// Package chart checks that charts/sunset renders, that it contains the files of the repository, that a real API server
// accepts it, and that it grants exactly the permissions that Sunset uses.
package chart
