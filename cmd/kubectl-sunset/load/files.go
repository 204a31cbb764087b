package load

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// Files is a set of manifest files that can be read more than once. The caller must close it.
type Files struct {
	found []found
	named []string // the paths that were given
	spool *os.File // a copy of standard input; nil if it is not one of the files
}

// found is a file, and the path that led to it.
type found struct {
	name        string
	open        func() (io.ReadCloser, error)
	named       string // the path that was given: that of the file, or of a directory
	inDirectory bool
}

func onDisk(path, named string) found {
	return found{name: path, named: named, inDirectory: path != named, open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName is the file name of standard input in messages.
const stdinName = "stdin"

// Open finds the files. In a directory it takes the files that end in .yaml, .yml or .json; if recursive, also in
// subdirectories. It copies standard input to a temporary file, so that it can be read again.
func Open(paths []string, recursive bool, stdin io.Reader) (*Files, error) {
	f := &Files{}
	for _, path := range paths {
		if err := f.add(path, recursive, stdin); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

func (f *Files) add(path string, recursive bool, stdin io.Reader) error {
	if path == Stdin {
		f.named = append(f.named, stdinName)
		return f.addStdin(stdin)
	}
	f.named = append(f.named, path)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		f.found = append(f.found, onDisk(path, path))
		return nil
	}
	return filepath.WalkDir(path, func(below string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && below != path && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && isManifest(below):
			f.found = append(f.found, onDisk(below, path))
		}
		return nil
	})
}

func isManifest(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path)))
}

// addStdin copies standard input. Where the system allows it, the copy has no name, so that it disappears when the process
// ends.
func (f *Files) addStdin(stdin io.Reader) error {
	if f.spool != nil {
		return fmt.Errorf("%q is given twice, but standard input can be read only once", Stdin)
	}
	spool, err := os.CreateTemp("", "sunset-stdin-*")
	if err != nil {
		return err
	}
	f.spool = spool
	_ = os.Remove(spool.Name()) // if this fails, Close removes it
	size, err := io.Copy(spool, stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	f.found = append(f.found, found{name: stdinName, named: stdinName, open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(spool, 0, size)), nil
	}})
	return nil
}

// Len returns the number of files.
func (f *Files) Len() int { return len(f.found) }

// Each yields every item of every file, in order, and stops at the first error. In files that were found in a directory, it
// skips documents that are not Kubernetes objects.
func (f *Files) Each(yield func(Item) error) error {
	for _, file := range f.found {
		if err := file.each(yield); err != nil {
			return err
		}
	}
	return nil
}

// Feed passes all objects of the files to a preview.
func (f *Files) Feed() preview.Feed {
	return func(yield func(preview.Batch) error) error {
		return f.Each(func(item Item) error { return yield(item) })
	}
}

func (f found) each(yield func(Item) error) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return EachItem(f.name, r, func(item Item) error {
		item.lenient = f.inDirectory
		return yield(item)
	})
}

// Close removes the copy of standard input.
func (f *Files) Close() error {
	if f.spool == nil {
		return nil
	}
	err := f.spool.Close()
	if removed := os.Remove(f.spool.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return removed
	}
	return err
}
