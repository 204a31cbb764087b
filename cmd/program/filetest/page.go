// SPDX-License-Identifier: Apache-2.0

// Package filetest compares docs/reference/configuration.md and docs/reference/flags.md with the flags of a program.
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

// HasEveryFlag fails the test unless the section of that program in docs/reference/flags.md has exactly the flags, with their defaults.
func HasEveryFlag(t *testing.T, program string, flags Flags) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+program+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]string{}
	for _, match := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (.*?) ?\\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		documented[match[1]] = strings.NewReplacer("`", "", "—", "", "$NODE_NAME", "").Replace(match[2])
	}
	flags.VisitAll(func(f *pflag.Flag) {
		given, ok := documented[f.Name]
		delete(documented, f.Name)
		switch value := strings.Trim(f.DefValue, "[]"); {
		case strings.HasPrefix(f.Name, "zap-") && strings.Contains(section, "the flags `--zap-*` of"): // another section has them
		case !ok:
			t.Errorf("--%s is not in the section", f.Name)
		case given != value:
			t.Errorf("--%s is %q in the section and %q by default", f.Name, given, value)
		}
	})
	for name := range documented {
		t.Errorf("--%s is in the section, and the program does not have it", name)
	}
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
