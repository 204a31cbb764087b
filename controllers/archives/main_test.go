// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"os"
	"runtime"
	"testing"
)

// TestMain lets one goroutine run at a time: a worker begins only when the test waits, after it has asked for all records.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}
