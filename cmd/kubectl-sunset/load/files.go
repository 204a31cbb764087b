// SPDX-License-Identifier: Apache-2.0

package load

import (
	"io"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// Files is a set of files that can be read more than once. The zero value is an empty set. Package manifests finds files on
// disk.
type Files struct {
	Progress func(items int) // receives the number of items that were read; nil for none
	Closer   io.Closer       // for Close; nil for none

	files []File
	given []string // the paths of Add
}

// File is one file of Files.
type File struct {
	Name string // in messages
	Open func() (io.ReadCloser, error)

	given string // the path of Add: that of the file, or of a directory
	kept  []Item // decoded; nil if the file is read each time
}

// Text is a file in memory.
type Text struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// InMemory returns files that are not on disk.
func InMemory(texts ...Text) *Files {
	f := &Files{}
	for _, text := range texts {
		f.Add(text.Name, File{Name: text.Name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.Text)), nil }})
	}
	return f
}

// Add adds the files that a path stands for: one file with the name of the path, or the files of a directory.
func (f *Files) Add(path string, files ...File) {
	f.given = append(f.given, path)
	for _, file := range files {
		file.given = path
		f.files = append(f.files, file)
	}
}

// And returns these files and more files, for reading only.
func (f *Files) And(more *Files) *Files {
	return &Files{files: slices.Concat(f.files, more.files), given: slices.Concat(f.given, more.given)}
}

// Keep decodes all objects and keeps them in memory, so that the files can be read again and again without decoding. Readers
// share the objects.
func (f *Files) Keep() error {
	for i := range f.files {
		kept := []Item{}
		err := f.files[i].each(func(item Item) error {
			decoded, err := item.decoded()
			kept = append(kept, decoded)
			return err
		})
		if err != nil {
			return err
		}
		f.files[i].kept = kept
	}
	return nil
}

// Len returns the number of files.
func (f *Files) Len() int { return len(f.files) }

// Each yields every item of every file, in order, and stops at the first error. In files that were found in a directory, it
// skips documents that are not Kubernetes objects.
func (f *Files) Each(yield func(Item) error) error {
	yield = f.counted(yield)
	for _, file := range f.files {
		if err := file.each(yield); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the objects that match. It does not decode those in whose text name does not occur; an empty name occurs in all.
func (f *Files) Find(name string, matches func(object map[string]any) bool) (found []map[string]any, err error) {
	err = f.Each(func(item Item) error {
		if !item.Mentions(name) {
			return nil
		}
		objects, err := item.Objects()
		for _, object := range objects {
			if matches(object) {
				found = append(found, object)
			}
		}
		return err
	})
	return found, err
}

// counted returns yield with progress.
func (f *Files) counted(yield func(Item) error) func(Item) error {
	if f.Progress == nil {
		return yield
	}
	items := 0
	return func(item Item) error {
		items++
		f.Progress(items)
		return yield(item)
	}
}

// Feed passes all objects of the files to a preview.
func (f *Files) Feed() preview.Feed {
	return func(yield func(preview.Batch) error) error {
		return f.Each(func(item Item) error { return yield(item) })
	}
}

func (f File) each(yield func(Item) error) error {
	for _, item := range f.kept {
		if err := yield(item); err != nil {
			return err
		}
	}
	if f.kept != nil {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return EachItem(f.Name, r, func(item Item) error {
		item.lenient = f.Name != f.given
		return yield(item)
	})
}

// Close closes the Closer.
func (f *Files) Close() error {
	if f.Closer == nil {
		return nil
	}
	return f.Closer.Close()
}
