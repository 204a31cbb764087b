// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// errLocked means that another process, or another caller in this process, holds the lock.
var errLocked = errors.New("locked")

// tryLock takes the advisory lock on path, creating the file. The kernel releases the lock when the returned file is closed
// or this process ends.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(errLocked, f.Close())
	case err != nil:
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lock is tryLock that waits until the lock is free or ctx ends. If it has to wait, it calls waiting once.
func lock(ctx context.Context, path string, waiting func()) (f *os.File, err error) {
	f, err = tryLock(path)
	if !errors.Is(err, errLocked) {
		return f, err
	}
	waiting()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for errors.Is(err, errLocked) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
			f, err = tryLock(path)
		}
	}
	return f, err
}
