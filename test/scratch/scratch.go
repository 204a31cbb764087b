// SPDX-License-Identifier: Apache-2.0

// Package scratch creates temporary directories that do not stay when a process is killed.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/sunset-k8s/sunset/test/filelock"
)

// Dir is a temporary directory. If this process dies before it removes the directory, a later New with the same pattern removes it: its
// lock shows whether its owner still lives.
type Dir struct {
	path string
	lock *os.File
}

// New creates a directory in parent, which must be writable. pattern ends with a *, which a unique name replaces.
func New(parent, pattern string) (*Dir, error) {
	sweep(parent, pattern)
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, err
	}
	held, err := filelock.Try(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Dir{path: dir, lock: held}, nil
}

// Path returns the path of a file with this name in the directory, or of the directory if the name is empty.
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Write writes a file with this name in the directory.
func (d *Dir) Write(name string, data []byte) error {
	return os.WriteFile(d.Path(name), data, 0o600)
}

// Remove removes the directory with its content.
func (d *Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// sweep removes directories whose owner died. It skips directories younger than a minute, whose owner may not have
// taken the lock yet, and directories of other users.
func sweep(parent, pattern string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, pattern))
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		held, err := filelock.Try(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir) // best effort: the next one retries
		_ = held.Close()
	}
}
