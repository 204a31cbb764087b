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
	"time"

	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName is the file name of standard input in messages.
const stdinName = "stdin"

// Open finds the files. In a directory it takes the files that end in .yaml, .yml or .json. It copies standard input
// and the content of URLs to a temporary file, and the output of kustomize to memory, so that they can be read again. The caller
// must close the files.
func Open(o resource.FilenameOptions, stdin io.Reader) (*load.Files, error) {
	f := &load.Files{}
	if err := addAll(f, o, stdin); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func addAll(f *load.Files, o resource.FilenameOptions, stdin io.Reader) (err error) {
	isStdinRead := false
	for _, name := range o.Filenames {
		switch {
		case name == Stdin && isStdinRead:
			return fmt.Errorf("%q is given twice, but standard input can be read only once", Stdin)
		case name == Stdin:
			isStdinRead = true
			err = addCopy(f, stdinName, stdin)
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			err = addDownload(f, name)
		default:
			err = addPath(f, name, o.Recursive)
		}
		if err != nil {
			return err
		}
	}
	if o.Kustomize != "" {
		return addKustomize(f, o.Kustomize)
	}
	return nil
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

func addReader(f *load.Files, name string, open func() io.Reader) {
	f.Add(name, load.File{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(open()), nil }})
}

// downloadWithin bounds a whole download, so that a server that stops answering ends the command.
const downloadWithin = 5 * time.Minute

func addDownload(f *load.Files, url string) error {
	response, err := (&http.Client{Timeout: downloadWithin}).Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("read %s: the server answered %s", url, response.Status)
	}
	return addCopy(f, url, response.Body)
}

func addKustomize(f *load.Files, dir string) error {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return err
	}
	text, err := objects.AsYaml()
	if err != nil {
		return err
	}
	addReader(f, dir, func() io.Reader { return bytes.NewReader(text) })
	return nil
}
