// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// Name is the name of the file in the directory of a Store.
	Name = "images.json"

	bad    = Name + ".bad-"
	maxBad = 3
)

// ErrLocked means that another process uses the directory.
var ErrLocked = errors.New("another process has locked the directory: stop the other agent on this node")

var errClosed = errors.New("the history of images is closed")

// Options configure a Store. All fields except Every are required.
type Options struct {
	// Machine identifies the machine of the history across boots: /etc/machine-id or the name of the node.
	Machine string
	// Gap is the gap of New.
	Gap time.Duration
	// Every is the minimum time between two saves of listings that made no age shorter. If it is not longer than Gap less an
	// interval, a crash costs only the time until the agent is back.
	Every time.Duration
}

// Store is a History that is saved in its own directory. It is safe for concurrent use.
type Store struct {
	*History

	disk    disk
	options Options

	mu        sync.Mutex
	held      io.Closer // the lock; nil if it could not be acquired
	closed    bool
	agesReset error
	saveErr   error
	saved     uint64  // number of the last change that is on disk
	triedWhen Reading // when the last save was attempted
}

// Open takes the directory for the life of the Store, creates it if necessary, and reads the file in it. The error is
// ErrLocked, or says which option is invalid. Any other failure still gives a Store, and its methods report the cause.
func Open(dir string, at Reading, o Options) (*Store, error) {
	s, err := open(directory(dir), at, o)
	if err != nil {
		return nil, fmt.Errorf("open the history of images in %s: %w", dir, err)
	}
	return s, nil
}

func open(d disk, at Reading, o Options) (*Store, error) {
	if o.Machine == "" || o.Gap <= 0 {
		return nil, errors.New("options Machine and Gap are required")
	}
	s := &Store{History: New(o.Gap), disk: d, options: o}
	switch s.saveErr = s.hold(); {
	case errors.Is(s.saveErr, ErrLocked):
		return nil, s.saveErr
	case s.saveErr != nil:
		s.agesReset = fmt.Errorf("image ages start again from zero: %w", s.saveErr)
	default:
		s.load(at)
	}
	return s, nil
}

// hold acquires the lock, unless the Store has it.
func (s *Store) hold() (err error) {
	if s.held == nil {
		s.held, err = s.disk.Lock()
	}
	return err
}

func (s *Store) load(at Reading) {
	data, err := s.disk.Read(Name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var c content
	if err == nil {
		c, err = decode(data, s.options.Machine)
	}
	if err == nil {
		s.restore(c)
		return
	}
	aside, asideErr := s.setAside(at)
	if asideErr != nil {
		s.saveErr = fmt.Errorf("rename unusable %s: %w", Name, asideErr)
		s.agesReset = errors.Join(fmt.Errorf("image ages start again from zero, because the agent cannot use %s: %w", Name, err), s.saveErr)
		return
	}
	s.agesReset = fmt.Errorf("image ages start again from zero, because the agent cannot use %s, which it keeps as %s: %w", Name, aside, err)
}

// setAside renames the file. It keeps only the last few of the renamed files.
func (s *Store) setAside(at Reading) (string, error) {
	aside := bad + at.Wall.UTC().Format("20060102T150405Z")
	if err := s.disk.Rename(Name, aside); err != nil {
		return "", err
	}
	names, err := s.disk.Names()
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, bad) || name == aside })
	slices.Sort(names)
	for _, name := range names[:max(0, len(names)-maxBad+1)] {
		err = errors.Join(err, s.disk.Remove(name))
	}
	return aside, errors.Join(err, s.disk.Sync())
}

// toldFor is how long the loss of ages is reported. After that time the report is no longer useful.
const toldFor = 24 * time.Hour

// AgesReset returns why the ages started again when the Store was opened, although there was a file or may have been one. It
// returns nil if they did not, and once a day has been observed since then.
func (s *Store) AgesReset() error {
	if s.observedSoFar() >= toldFor {
		return nil
	}
	return s.agesReset
}

// SaveError returns why the current state is not on disk; nil if it is. The ages stay correct as long as the process lives.
func (s *Store) SaveError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saveErr
}

// Save writes the state if necessary. Call it after each Observe, before a decision depends on that listing, and after
// removals. It writes changes that make an age shorter at once, and retries after a failed write. The error says why the
// current state is not on disk.
func (s *Store) Save(at Reading) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	changed, isShorter := s.since(s.saved)
	if passed, ok := at.since(s.triedWhen); isShorter || changed && (!ok || passed < 0 || passed >= s.options.Every) {
		s.triedWhen = at
		s.saveErr = s.write(isShorter)
	}
	return s.saveErr
}

// since reports whether there were changes after the given one, and whether they made an age shorter.
func (h *History) since(change uint64) (changed, isShorter bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes > change, h.shortens > change
}

func (s *Store) write(isShorter bool) error {
	if err := s.hold(); err != nil {
		return fmt.Errorf("save the history of images: %w", err)
	}
	c, change := s.content()
	data, err := encode(c, s.options.Machine)
	if err == nil {
		err = replace(s.disk, Name, data)
	}
	if err == nil {
		s.saved = change
		return nil
	}
	err = fmt.Errorf("save the history of images: %w", err)
	if !isShorter {
		return err // the file is outdated, but makes no image older
	}
	return errors.Join(err, s.withdraw())
}

// withdraw removes the file, so that ages start again if the process ends. It needs no space on the disk.
func (s *Store) withdraw() error {
	if err := s.disk.Remove(Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the outdated file: %w", err)
	}
	return s.disk.Sync()
}

// Close saves the state if necessary and unlocks the directory. The Store stays readable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if changed, isShorter := s.since(s.saved); changed {
		err = s.write(isShorter)
		s.saveErr = err
	}
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	return err
}
