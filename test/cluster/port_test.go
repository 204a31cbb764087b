// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

const reserveEnv = "SUNSET_TEST_RESERVE_PORT"

// TestReserver is not a test: it is another process of the next test.
func TestReserver(t *testing.T) {
	port, err := strconv.Atoi(os.Getenv(reserveEnv))
	if err != nil {
		t.Skip("process of TestPortsOfProcessesDiffer")
	}
	if reserved(port) {
		t.Errorf("port %d is reserved twice", port)
	}
}

// TestPortsOfProcessesDiffer: another process does not get a port while its server does not run.
func TestPortsOfProcessesDiffer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs abstract sockets of Linux")
	}
	port, err := FreePort()
	expect.NoError(t, err)
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReserver$")
	other.Env = append(os.Environ(), reserveEnv+"="+strconv.Itoa(port))
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
