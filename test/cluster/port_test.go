// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestFreePortIsGivenToOneProcess: another process finds the port locked, although no program listens on it yet.
func TestFreePortIsGivenToOneProcess(t *testing.T) {
	t.Setenv(cacheEnv, t.TempDir())
	port, err := FreePort()
	expect.NoError(t, err)
	root, err := cacheRoot()
	expect.NoError(t, err)
	if _, err := tryLock(filepath.Join(root, "ports", strconv.Itoa(port))); !errors.Is(err, errLocked) {
		t.Errorf("lock of port %d: %v, want errLocked", port, err)
	}
}
