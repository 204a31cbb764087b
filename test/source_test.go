// SPDX-License-Identifier: Apache-2.0

package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	root   = ".."
	module = "github.com/sunset-k8s/sunset"
)

// source is one Go file that is not generated.
type source struct {
	name   string // path from the root of the repository
	dir    string // its package, from the root of the repository
	lines  int
	isTest bool
	syntax *ast.File
}

// imports returns the paths that the file imports, with the name of each in the file.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range s.syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		names[imported] = path.Base(imported)
		if spec.Name != nil {
			names[imported] = spec.Name.Name
		}
	}
	return names
}

func (s source) isMain() bool { return s.syntax.Name.Name == "main" }

// sources returns every Go file of the module except generated ones.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsed reads the files itself, so that go test does not use a cached result after a change.
var parsed = sync.OnceValues(func() (all []source, err error) {
	files := token.NewFileSet()
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return enter(file)
		case !strings.HasSuffix(file, ".go"):
			return nil
		}
		s, err := read(files, file)
		if err == nil && !ast.IsGenerated(s.syntax) {
			all = append(all, s)
		}
		return err
	})
	return all, err
})

// enter skips hidden directories, test data, packages of npm and other modules.
func enter(dir string) error {
	if dir == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	if base := filepath.Base(dir); err == nil || base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") {
		return fs.SkipDir
	}
	return nil
}

func read(files *token.FileSet, file string) (source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return source{}, err
	}
	syntax, err := parser.ParseFile(files, file, text, parser.ParseComments|parser.SkipObjectResolution)
	name := strings.TrimPrefix(filepath.ToSlash(file), root+"/")
	return source{
		name:   name,
		dir:    path.Dir(name),
		lines:  strings.Count(string(text), "\n"),
		isTest: strings.HasSuffix(name, "_test.go"),
		syntax: syntax,
	}, err
}
