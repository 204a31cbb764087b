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

// spool is a copy of standard input. Closing it removes it.
type spool struct{ *os.File }

// addStdin copies standard input. Where the system allows it, the copy has no name, so that it disappears when the process
// ends.
func addStdin(f *load.Files, stdin io.Reader) error {
	if f.Closer != nil {
		return fmt.Errorf("%q is given twice, but standard input can be read only once", Stdin)
	}
	file, err := os.CreateTemp("", "sunset-stdin-*")
	if err != nil {
		return err
	}
	f.Closer = spool{file}
	_ = os.Remove(file.Name()) // if this fails, Close removes it
	size, err := io.Copy(file, stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	addReader(f, stdinName, func() io.Reader { return io.NewSectionReader(file, 0, size) })
	return nil
}

func (s spool) Close() error {
	err := s.File.Close()
	if removed := os.Remove(s.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return removed
	}
	return err
}
