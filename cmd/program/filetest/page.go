// SPDX-License-Identifier: Apache-2.0

// Package filetest compares the configuration files in docs/reference/configuration.md with the flags of a program.
package filetest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/program"
)

// Flags is the part of program.Flags that this package needs.
type Flags interface {
	Parse(args []string) error
	VisitAll(fn func(*pflag.Flag))
}

// HasEverySetting fails the test unless the file of that kind in docs/reference/configuration.md has every setting with its default.
func HasEverySetting(t *testing.T, kind string, flags Flags) {
	t.Helper()
	text := onThePage(t, kind)
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := flags.Parse([]string{"--config", path}); err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &given); err != nil {
		t.Fatal(err)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		_, ok := given[program.SettingName(f.Name)]
		switch value := f.Value.String(); {
		case slices.Contains([]string{"config", "version"}, f.Name): // flags only
		case !ok:
			t.Errorf("%s is not in the file", program.SettingName(f.Name))
		case value != f.DefValue && !strings.HasPrefix(f.Name, "zap-"):
			t.Errorf("%s is %s in the file and %s by default", f.Name, value, f.DefValue)
		}
	})
}

// onThePage returns the file of that kind. It must be called from a package directly below cmd.
func onThePage(t *testing.T, kind string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```yaml\n(apiVersion: [^`]*?\nkind: " + kind + "\n.*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatalf("docs/reference/configuration.md has no file of kind %s", kind)
	}
	return string(text[1])
}
