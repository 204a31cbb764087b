// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
)

// Files is a set of manifest files that can be read more than once. The caller must close it.
type Files struct {
	Progress *terminal.Progress // shows the number of items that were read; nil for none

	found []found
	named []string // the paths that were given
	spool *os.File // a copy of standard input; nil if it is not one of the files
}

// found is a file, and the path that led to it.
type found struct {
	name  string
	open  func() (io.ReadCloser, error)
	named string // the path that was given: that of the file, or of a directory
}

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName is the file name of standard input in messages.
const stdinName = "stdin"

// Open finds the files, as kubectl does: files, directories, patterns, URLs, standard input, and the output of kustomize. In a
// directory it takes the files that end in .yaml, .yml or .json. It copies standard input to a temporary file, and the content of
// URLs and the output of kustomize to memory, so that they can be read again.
func Open(o resource.FilenameOptions, stdin io.Reader) (*Files, error) {
	f := &Files{}
	var err error
	for _, name := range o.Filenames {
		switch {
		case name == Stdin:
			err = f.addStdin(stdin)
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			err = f.addText(name, download)
		default:
			err = f.addPath(name, o.Recursive)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	if o.Kustomize != "" {
		if err := f.addText(o.Kustomize, kustomize); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

// addPath adds a file, the files of a directory, or what a pattern matches.
func (f *Files) addPath(pattern string, recursive bool) error {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		paths = []string{pattern} // not a pattern; if the file is missing, the error says so
	}
	for _, path := range paths {
		visitors, err := resource.ExpandPathsToFileVisitors(nil, path, recursive, resource.FileExtensions, nil)
		if err != nil {
			return err
		}
		f.named = append(f.named, path)
		for _, v := range visitors {
			name := v.(*resource.FileVisitor).Path
			f.found = append(f.found, found{name: name, named: path, open: func() (io.ReadCloser, error) { return os.Open(name) }})
		}
	}
	return nil
}

// addText adds text that read returns for a name.
func (f *Files) addText(name string, read func(string) ([]byte, error)) error {
	text, err := read(name)
	if err != nil {
		return err
	}
	f.add(name, func() io.Reader { return bytes.NewReader(text) })
	return nil
}

func (f *Files) add(name string, open func() io.Reader) {
	f.named = append(f.named, name)
	f.found = append(f.found, found{name: name, named: name, open: func() (io.ReadCloser, error) { return io.NopCloser(open()), nil }})
}

func download(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s: the server answered %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

func kustomize(dir string) ([]byte, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	return objects.AsYaml()
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
	f.add(stdinName, func() io.Reader { return io.NewSectionReader(spool, 0, size) })
	return nil
}

// Len returns the number of files.
func (f *Files) Len() int { return len(f.found) }

// Each yields every item of every file, in order, and stops at the first error. In files that were found in a directory, it
// skips documents that are not Kubernetes objects.
func (f *Files) Each(yield func(Item) error) error {
	yield = f.counted(yield)
	for _, file := range f.found {
		if err := file.each(yield); err != nil {
			return err
		}
	}
	return nil
}

// counted returns yield with progress.
func (f *Files) counted(yield func(Item) error) func(Item) error {
	items := 0
	return func(item Item) error {
		items++
		f.Progress.Set(items)
		return yield(item)
	}
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
		item.lenient = f.name != f.named
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
