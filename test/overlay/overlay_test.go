// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/overlay"
)

func TestNew(t *testing.T) {
	root := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("one two three two"), 0o600))
	o, err := overlay.New(root, overlay.Patch{File: "a.go", Old: "one", New: "1"}, overlay.Patch{File: "a.go", Old: "three", New: "3"})
	expect.NoError(t, err)
	var written struct{ Replace map[string]string }
	data, err := os.ReadFile(o.Path())
	if err == nil {
		err = json.Unmarshal(data, &written)
	}
	expect.NoError(t, err)
	text, err := os.ReadFile(written.Replace[filepath.Join(root, "a.go")])
	if err != nil || string(text) != "1 two 3 two" {
		t.Errorf("%q, %v", text, err)
	}
	o.Remove()
	if _, err := os.Stat(o.Path()); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
	for _, old := range []string{"two", "four"} {
		if _, err := overlay.New(root, overlay.Patch{File: "a.go", Old: old}); err == nil || !strings.Contains(err.Error(), "want once") {
			t.Errorf("%s: %v", old, err)
		}
	}
}
