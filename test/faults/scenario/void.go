// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// repeated is the environment variable of a process that repeats void runs.
const repeated = "SUNSET_FAULTS_REPEATED"

// voidRuns are the tests whose runs were void.
var voidRuns struct {
	sync.Mutex
	names []string
}

// Void ends a run that shows nothing, because an expected event did not happen: for example, the leader lost its lease on a slow machine
// before a fault could occur. Main repeats the test once at the end, when no other test runs. If that run is void too, the test fails.
func Void(t testing.TB, format string, args ...any) {
	t.Helper()
	if recordVoid(t, fmt.Sprintf(format, args...)); t.Failed() {
		t.FailNow()
	}
	t.SkipNow()
}

// recordVoid lets Main repeat a test, or fails it if this is the second run.
func recordVoid(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(repeated) != "" {
		t.Errorf("the run is void again: %s", why)
		return
	}
	voidRuns.Lock()
	defer voidRuns.Unlock()
	if !slices.Contains(voidRuns.names, t.Name()) {
		voidRuns.names = append(voidRuns.names, t.Name())
	}
	t.Logf("the run is void, and is repeated at the end: %s", why)
}

// repeatVoid runs the tests whose runs were void in another process. It returns the exit code.
func repeatVoid() int {
	voidRuns.Lock()
	defer voidRuns.Unlock()
	if len(voidRuns.names) == 0 {
		return 0
	}
	binary, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	tests := make([]string, len(voidRuns.names))
	for i, name := range voidRuns.names {
		tests[i] = only(name)
	}
	again := exec.Command(binary, "-test.run="+strings.Join(tests, "|"), "-test.v", "-test.timeout=1h", "-beside=1",
		fmt.Sprint("-patience=", *patience), fmt.Sprint("-seed=", Seed()))
	again.Env = append(os.Environ(), repeated+"=1")
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	if err := again.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "repeat void runs:", err)
		return 1
	}
	return 0
}

// only returns the value of -run for one test or subtest.
func only(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}
