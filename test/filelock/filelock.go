// SPDX-License-Identifier: Apache-2.0

// Package filelock locks files between processes. The kernel releases a lock when its file is closed or the process ends.
package filelock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// ErrLocked means that another process, or another caller in this process, holds the lock.
var ErrLocked = errors.New("locked")

// Try takes the advisory lock on path, creating the file. Closing the returned file releases the lock. If the lock is held, the error is
// ErrLocked.
func Try(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(ErrLocked, f.Close())
	case err != nil:
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Wait is Try that waits until the lock is free or ctx ends. If it has to wait, it calls waiting once.
func Wait(ctx context.Context, path string, waiting func()) (f *os.File, err error) {
	f, err = Try(path)
	if !errors.Is(err, ErrLocked) {
		return f, err
	}
	waiting()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for errors.Is(err, ErrLocked) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
			f, err = Try(path)
		}
	}
	return f, err
}
