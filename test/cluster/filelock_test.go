// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

func TestLockWaitsForItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := tryLock(path)
	expect.NoError(t, err)
	if _, err := tryLock(path); !errors.Is(err, errLocked) {
		t.Fatalf("second lock: %v, want errLocked", err)
	}
	waited := false
	second, err := lock(t.Context(), path, func() {
		waited = true
		_ = first.Close()
	})
	if err != nil || !waited {
		t.Fatalf("lock after release: %v, waited %t", err, waited)
	}
	_ = second.Close()
}

func TestLockGivesUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLock(path)
	expect.NoError(t, err)
	defer func() { _ = held.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("lock = %v, want context.Canceled", err)
	}
}
