// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
)

// spool is a temporary file with copies of what can be read only once. Closing it removes it.
type spool struct{ *os.File }

// spoolOf returns the spool of the files. Where the system allows it, it has no name, so that it disappears when the process ends.
func spoolOf(f *load.Files) (spool, error) {
	if s, ok := f.Closer.(spool); ok {
		return s, nil
	}
	file, err := os.CreateTemp("", "sunset-*")
	if err != nil {
		return spool{}, err
	}
	f.Closer = spool{file}
	_ = os.Remove(file.Name()) // if this fails, Close removes it
	return spool{file}, nil
}

// addCopy adds a copy of what r reads. The name is that of the file in messages.
func addCopy(f *load.Files, name string, r io.Reader) error {
	s, err := spoolOf(f)
	if err != nil {
		return err
	}
	start, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	size, err := io.Copy(s, r)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	addReader(f, name, func() io.Reader { return io.NewSectionReader(s, start, size) })
	return nil
}

// Close closes and removes the file.
func (s spool) Close() error {
	err := s.File.Close()
	if removed := os.Remove(s.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return removed
	}
	return err
}
