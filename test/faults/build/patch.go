package build

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Patch replaces text in one file of the product.
type Patch struct {
	File string // from the root of the repository
	Old  string // must be there exactly once
	New  string
}

// apply changes the text of the patch's file.
func (p Patch) apply(text string) (string, error) {
	if n := strings.Count(text, p.Old); n != 1 {
		return "", fmt.Errorf("%s has this %d times, want once; mend the patch, as the product has changed:\n%s", p.File, n, p.Old)
	}
	return strings.Replace(text, p.Old, p.New, 1), nil
}

// overlay is what go build -overlay reads: files that stand in for others.
type overlay struct{ dir string }

func (o overlay) path() string { return filepath.Join(o.dir, "overlay.json") }
func (o overlay) remove()      { _ = os.RemoveAll(o.dir) } // at worst it stays

// lay makes an overlay in which patches are applied, several to one file too.
func lay(root string, patches []Patch) (o overlay, err error) {
	patched := map[string]string{}
	for _, p := range patches {
		text, ok := patched[p.File]
		if !ok {
			source, err := os.ReadFile(filepath.Join(root, p.File))
			if err != nil {
				return o, err
			}
			text = string(source)
		}
		if patched[p.File], err = p.apply(text); err != nil {
			return o, err
		}
	}
	if o.dir, err = os.MkdirTemp("", "sunset-overlay-"); err != nil {
		return o, err
	}
	if err := o.write(root, patched); err != nil {
		o.remove()
		return o, err
	}
	return o, nil
}

func (o overlay) write(root string, patched map[string]string) error {
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
	return os.WriteFile(o.path(), data, 0o600)
}
