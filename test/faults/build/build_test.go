// SPDX-License-Identifier: Apache-2.0

package build

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/overlay"
	"github.com/sunset-k8s/sunset/test/program"
)

// TestPatchesCompile checks that every patch still fits the product and compiles. It checks only the types of the patched
// packages, because building all of them would take a minute.
func TestPatchesCompile(t *testing.T) {
	all := built(t)
	for _, name := range Mutants() {
		t.Run(name, func(t *testing.T) { all.expectCompiles(t, mutants[name]) })
	}
	for _, f := range []flavour{clocked, brief} {
		t.Run(f.name, func(t *testing.T) { all.expectCompiles(t, f.patches) })
	}
}

// builtPackages are the packages of the controller, and all that they and patches import.
type builtPackages struct {
	root      string
	files     map[string][]string // names, by the directory below root
	positions *token.FileSet
	importer  types.Importer
}

func built(t *testing.T) builtPackages {
	t.Helper()
	AsInputs(t)
	root, err := root()
	expect.NoError(t, err)
	format := `{{.ImportPath}} {{.Export}} {{.Dir}} {{join .GoFiles " "}}`
	args := slices.Concat([]string{"list", "-export", "-deps", "-f", format}, program.Flags(), []string{controller, "./test/faults/build/shifted"})
	list := exec.Command("go", args...)
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	expect.NoError(t, err)
	b := builtPackages{root: root, files: map[string][]string{}, positions: token.NewFileSet()}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), " ")
		exports[fields[0]] = fields[1]
		if directory, below := strings.CutPrefix(fields[2], root+"/"); below {
			b.files[directory] = fields[3:]
		}
	}
	b.importer = importer.ForCompiler(b.positions, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return b
}

func (b builtPackages) expectCompiles(t *testing.T, patches []overlay.Patch) {
	t.Helper()
	patched, err := overlay.Patched(b.root, patches...)
	expect.NoError(t, err)
	directories := map[string]bool{}
	for file := range patched {
		directories[path.Dir(file)] = true
	}
	for directory := range directories {
		var files []*ast.File
		for _, name := range b.files[directory] {
			var source any // nil: the text of the file
			if text, changed := patched[path.Join(directory, name)]; changed {
				source = text
			}
			file, err := parser.ParseFile(b.positions, filepath.Join(b.root, directory, name), source, parser.SkipObjectResolution)
			expect.NoError(t, err)
			files = append(files, file)
		}
		config := types.Config{Importer: b.importer, Error: func(err error) { t.Error(err) }}
		_, _ = config.Check(directory, b.positions, files, nil) // Error has reported every error
	}
}

func TestPatchThatDoesNotFitSaysSo(t *testing.T) {
	for name, old := range map[string]string{"missing": "no such text", "twice": "e"} {
		t.Run(name, func(t *testing.T) {
			f := flavour{patches: []overlay.Patch{{File: "cmd/sunset-controller/main.go", Old: old, New: "x"}}}
			if err := f.build(os.DevNull); err == nil || !strings.Contains(err.Error(), "adapt the patch to the changed source") {
				t.Errorf("%v", err)
			}
		})
	}
}
