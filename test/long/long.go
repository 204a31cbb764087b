// SPDX-License-Identifier: Apache-2.0

// Package long says whether tests run in full, as in make test-long, or only as much as fits into make test.
package long

import "os"

// Enabled reports whether SUNSET_LONG is set.
func Enabled() bool { return os.Getenv("SUNSET_LONG") != "" }

// Cases returns how many random cases a test runs: n, and five times as many if long tests are enabled.
func Cases(n int) int {
	if Enabled() {
		return 5 * n
	}
	return n
}
