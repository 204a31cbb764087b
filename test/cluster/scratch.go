package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

const scratchPattern = "sunset-cluster-*"

// scratch is a temporary directory. If this process dies before it removes the directory, a later cluster removes it: its
// lock shows whether its owner still lives.
type scratch struct {
	dir  string
	lock *os.File
}

func newScratch() (*scratch, error) { return newScratchIn(os.TempDir(), scratchPattern) }

// newScratchIn creates the directory in parent, with a name of this pattern.
func newScratchIn(parent, pattern string) (*scratch, error) {
	sweepScratch(parent, pattern)
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &scratch{dir: dir, lock: held}, nil
}

func (s *scratch) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scratch) write(name string, data []byte) error {
	return os.WriteFile(s.path(name), data, 0o600)
}

func (s *scratch) remove() error {
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
		_ = os.RemoveAll(dir) // best effort: the next cluster retries
		_ = held.Close()
	}
}
