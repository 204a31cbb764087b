// SPDX-License-Identifier: Apache-2.0

// Package overlay changes the sources that go build and go test read without changing the files. Tests use it for
// controllers without a safety mechanism, and for mutants that tests must detect.
//
// If a patch does not match the source anymore, it returns an error; it never builds without the change.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Patch replaces text in one file of the product.
type Patch struct {
	File string // path from the root of the repository
	Old  string // must occur exactly once
	New  string
}

// Apply applies the patch to the text of its file.
func (p Patch) Apply(text string) (string, error) {
	if n := strings.Count(text, p.Old); n != 1 {
		return "", fmt.Errorf("%s contains this text %d times, want once; adapt the patch to the changed source:\n%s", p.File, n, p.Old)
	}
	return strings.Replace(text, p.Old, p.New, 1), nil
}

// Overlay is a file for the flag -overlay of the go command: it lists files that replace others.
type Overlay struct{ dir string }

// Path is the value of the flag.
func (o Overlay) Path() string { return filepath.Join(o.dir, "overlay.json") }

// Remove deletes the overlay's files. If it fails, they remain in the directory for temporary files.
func (o Overlay) Remove() { _ = os.RemoveAll(o.dir) }

// Patched returns the texts of the files of the repository at root that these patches change, by their paths from the root. A
// file may have several patches.
func Patched(root string, patches ...Patch) (map[string]string, error) {
	patched := map[string]string{}
	for _, p := range patches {
		text, ok := patched[p.File]
		if !ok {
			source, err := os.ReadFile(filepath.Join(root, p.File))
			if err != nil {
				return nil, err
			}
			text = string(source)
		}
		var err error
		if patched[p.File], err = p.Apply(text); err != nil {
			return nil, err
		}
	}
	return patched, nil
}

// New writes an overlay of the repository at root with these patches. The caller removes it.
func New(root string, patches ...Patch) (o Overlay, err error) {
	patched, err := Patched(root, patches...)
	if err != nil {
		return o, err
	}
	if o.dir, err = os.MkdirTemp("", "sunset-overlay-"); err != nil {
		return o, err
	}
	if err := o.write(root, patched); err != nil {
		o.Remove()
		return o, err
	}
	return o, nil
}

func (o Overlay) write(root string, patched map[string]string) error {
	replace := map[string]string{}
	for file, text := range patched {
		in := filepath.Join(o.dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			return err
		}
		replace[filepath.Join(root, file)] = in
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(o.Path(), data, 0o600)
}
