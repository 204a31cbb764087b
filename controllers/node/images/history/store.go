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
	// Name is the file in the directory of a Store.
	Name = "images.json"

	bad    = Name + ".bad-"
	maxBad = 3
)

// ErrLocked means that another process has the directory.
var ErrLocked = errors.New("another process uses it: is a second agent running on this node?")

var errClosed = errors.New("the history of images is closed")

// Options say how a History is kept. All but Every are needed.
type Options struct {
	// Machine is which machine the history is of, whatever its boot: /etc/machine-id or the name of the node.
	Machine string
	// Gap is that of New.
	Gap time.Duration
	// Every is how often a listing is saved that has made no age shorter. If it is not longer than Gap less an interval, a crash
	// costs no age but the time until the agent is back.
	Every time.Duration
}

// Store is a History that survives, in a directory of its own. It is safe for concurrent use.
type Store struct {
	*History

	disk    disk
	options Options

	mu        sync.Mutex
	held      io.Closer // the lock; nil if it could not be had
	closed    bool
	anew      error
	trouble   error
	saved     uint64  // the change up to which it is on disk
	triedWhen Reading // to save
}

// Open takes the directory for the life of the Store, making it if it is not there, and reads what is in it. The error is ErrLocked,
// or says what is wrong with the options. Whatever else is wrong, there is a Store: see Anew and Trouble.
func Open(dir string, at Reading, o Options) (*Store, error) {
	s, err := open(directory(dir), at, o)
	if err != nil {
		return nil, fmt.Errorf("open the history of images in %s: %w", dir, err)
	}
	return s, nil
}

func open(d disk, at Reading, o Options) (*Store, error) {
	if o.Machine == "" || o.Gap <= 0 {
		return nil, errors.New("it needs the machine and a gap")
	}
	s := &Store{History: New(o.Gap), disk: d, options: o}
	switch s.trouble = s.hold(); {
	case errors.Is(s.trouble, ErrLocked):
		return nil, s.trouble
	case s.trouble != nil:
		s.anew = fmt.Errorf("image ages start again from zero: %w", s.trouble)
	default:
		s.load(at)
	}
	return s, nil
}

// hold takes the lock, if that is not done.
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
		s.trouble = fmt.Errorf("set %s aside: %w", Name, asideErr)
		s.anew = errors.Join(fmt.Errorf("image ages start again from zero, because the agent cannot use %s: %w", Name, err), s.trouble)
		return
	}
	s.anew = fmt.Errorf("image ages start again from zero, because the agent cannot use %s, which it keeps as %s: %w", Name, aside, err)
}

// setAside renames the file. Of those before, only the last few are kept.
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

// toldFor is for how long it is said that ages began again: people should see it, and after a while it helps nobody.
const toldFor = 24 * time.Hour

// Anew says why the ages began again when the Store was opened although there was a file, or may have been one: nil if they did
// not, and once a day has been observed since.
func (s *Store) Anew() error {
	if s.observedSoFar() >= toldFor {
		return nil
	}
	return s.anew
}

// Trouble is why what is known is not on disk now: nil if it is. Ages stay right as long as the process lives.
func (s *Store) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble
}

// Save writes what is known, if it must be now. Call it after each Observe, before anything is judged by that, and after removals:
// what made an age shorter is written at once, and what was refused is tried again. The error is that of Trouble.
func (s *Store) Save(at Reading) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	changed, isShorter := s.since(s.saved)
	if passed, ok := at.since(s.triedWhen); isShorter || changed && (!ok || passed < 0 || passed >= s.options.Every) {
		s.triedWhen = at
		s.trouble = s.write(isShorter)
	}
	return s.trouble
}

// since tells whether there was anything since a change, and whether that made an age shorter.
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
		return err // what is on disk is old, and makes no image older
	}
	return errors.Join(err, s.withdraw())
}

// withdraw removes the file, after which ages begin again if the process ends. It takes no room on the disk.
func (s *Store) withdraw() error {
	if err := s.disk.Remove(Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("withdraw what is saved: %w", err)
	}
	return s.disk.Sync()
}

// Close saves what is not saved and gives the directory back. The Store stays readable.
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
		s.trouble = err
	}
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	return err
}
