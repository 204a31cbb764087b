// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName is the file name of standard input in messages.
const stdinName = "stdin"

// Open finds the files. In a directory it takes the files that end in .yaml, .yml or .json. It copies standard input to a
// temporary file, and the content of URLs and the output of kustomize to memory, so that they can be read again. The caller must
// close the files.
func Open(o resource.FilenameOptions, stdin io.Reader) (*load.Files, error) {
	f := &load.Files{}
	var err error
	for _, name := range o.Filenames {
		switch {
		case name == Stdin:
			err = addStdin(f, stdin)
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			err = addText(f, name, download)
		default:
			err = addPath(f, name, o.Recursive)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	if o.Kustomize != "" {
		if err := addText(f, o.Kustomize, kustomize); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return f, nil
}

// addPath adds a file, the files of a directory, or what a pattern matches.
func addPath(f *load.Files, pattern string, recursive bool) error {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		paths = []string{pattern} // not a pattern; if the file is missing, the error says so
	}
	for _, path := range paths {
		visitors, err := resource.ExpandPathsToFileVisitors(nil, path, recursive, resource.FileExtensions, nil)
		if err != nil {
			return err
		}
		var files []load.File
		for _, v := range visitors {
			name := v.(*resource.FileVisitor).Path
			files = append(files, load.File{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
		}
		f.Add(path, files...)
	}
	return nil
}

// addText adds text that read returns for a name.
func addText(f *load.Files, name string, read func(string) ([]byte, error)) error {
	text, err := read(name)
	if err != nil {
		return err
	}
	addReader(f, name, func() io.Reader { return bytes.NewReader(text) })
	return nil
}

func addReader(f *load.Files, name string, open func() io.Reader) {
	f.Add(name, load.File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(open()), nil }})
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
