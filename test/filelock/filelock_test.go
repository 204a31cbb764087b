// SPDX-License-Identifier: Apache-2.0

package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/filelock"
)

func TestLockWaitsForItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	expect.NoError(t, err)
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrLocked) {
		t.Fatalf("second lock: %v, want filelock.ErrLocked", err)
	}
	waited := false
	second, err := filelock.Wait(t.Context(), path, func() {
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
	held, err := filelock.Try(path)
	expect.NoError(t, err)
	defer func() { _ = held.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := filelock.Wait(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v, want context.Canceled", err)
	}
}
