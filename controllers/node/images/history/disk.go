// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxFile is larger than any file that this package writes.
const maxFile = 16 << 20

// disk is the directory of a Store. Each method is one step; the node may crash between any two.
type disk interface {
	Lock() (io.Closer, error) // ErrLocked if another process has it
	Read(name string) ([]byte, error)
	Create(name string) (file, error) // truncates an existing file
	Rename(from, to string) error
	Remove(name string) error
	Names() ([]string, error)
	Sync() error // makes renames and removals durable
}

type file interface {
	io.WriteCloser
	Sync() error
}

// directory is a disk in a directory of the filesystem.
type directory string

func (d directory) in(name string) string { return filepath.Join(string(d), name) }

// Lock locks the directory itself: the lock cannot be deleted while the directory is in use, and a read-only directory can be
// locked. The kernel releases the lock when the process ends.
func (d directory) Lock() (io.Closer, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	f, err := os.Open(string(d))
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errors.Join(ErrLocked, f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", d, err), f.Close())
	}
	return f, nil
}

func (d directory) Read(name string) ([]byte, error) {
	f, err := os.Open(d.in(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", f.Name(), maxFile)
	}
	return data, err
}

func (d directory) Create(name string) (file, error) {
	return os.OpenFile(d.in(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

func (d directory) Rename(from, to string) error { return os.Rename(d.in(from), d.in(to)) }

func (d directory) Remove(name string) error { return os.Remove(d.in(name)) }

func (d directory) Names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d directory) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// replace replaces a file atomically: its content is the old or the new one.
func replace(d disk, name string, data []byte) error {
	temporary := name + ".tmp" // the same name each time, so that crashes leave at most one file behind
	f, err := d.Create(temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.Remove(temporary)) // it may fill up the disk
	}
	if err := d.Rename(temporary, name); err != nil {
		return err
	}
	return d.Sync()
}
