// SPDX-License-Identifier: Apache-2.0

package test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// named is the license, in the first line or after a line that must be the first.
	named     = regexp.MustCompile(`^(#(!| syntax=).*\n)?(//|#|/\*|<!--|\{\{- /\*) SPDX-License-Identifier: Apache-2\.0( \*/| -->| \*/ -\}\})?\n`)
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// TestFilesNameTheLicense: each source file, script, file of settings and template of the chart does. Manifests to install or copy,
// documents, pages of HTML and what kubectl sunset copies into them, test data and generated files do not.
func TestFilesNameTheLicense(t *testing.T) {
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), root+"/")
		if !needsLicense(name) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil && !named.Match(text) && !generated.Match(text) {
			t.Errorf("%s: begin it with SPDX-License-Identifier: Apache-2.0", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func needsLicense(name string) bool {
	switch filepath.Ext(name) {
	case ".go", ".ts", ".mts", ".mjs", ".vue", ".tpl", ".sh":
		return true
	case ".js", ".css":
		return !under(name, "cmd/kubectl-sunset/report")
	case ".yaml", ".yml":
		return strings.HasPrefix(name, ".") || underAny(name, "charts/sunset/templates", "test/prose")
	}
	return name == "Makefile" || underAny(name, ".ci", "charts/sunset/templates")
}
