// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

const scratchPattern = "sunset-cluster-*"

// Scratch is a temporary directory. If this process dies before it removes the directory, a later NewScratch with the same
// pattern removes it: its lock shows whether its owner still lives.
type Scratch struct {
	dir  string
	lock *os.File
}

// NewScratch creates a directory in parent, which must be writable. pattern ends with a *, which a unique name replaces.
func NewScratch(parent, pattern string) (*Scratch, error) {
	sweepScratch(parent, pattern)
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Scratch{dir: dir, lock: held}, nil
}

// Path returns the path of a file with this name in the directory.
func (s *Scratch) Path(name string) string { return filepath.Join(s.dir, name) }

func (s *Scratch) write(name string, data []byte) error {
	return os.WriteFile(s.Path(name), data, 0o600)
}

// Remove removes the directory with its content.
func (s *Scratch) Remove() error {
	return errors.Join(os.RemoveAll(s.dir), s.lock.Close())
}

// sweepScratch removes directories whose owner died. It skips directories younger than a minute, whose owner may not have
// taken the lock yet, and directories of other users.
func sweepScratch(parent, pattern string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, pattern))
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		held, err := tryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir) // best effort: the next one retries
		_ = held.Close()
	}
}
