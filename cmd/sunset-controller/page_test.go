package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// TestTheFileOnThePage: an operator finds every setting in the file of docs/configuration.md, with its default.
func TestTheFileOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```yaml\n(apiVersion: [^`]*?\nkind: ControllerConfig\n.*?)```").FindStringSubmatch(string(page))
	if text == nil {
		t.Fatal("docs/configuration.md has no such file")
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text[1]), 0o644); err != nil {
		t.Fatal(err)
	}
	o := newOptions()
	if err := o.Parse([]string{"--config", path}); err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil {
		t.Error(err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(text[1]), &given); err != nil {
		t.Fatal(err)
	}
	o.VisitAll(func(f *pflag.Flag) {
		_, ok := given[f.Name]
		switch value := f.Value.String(); {
		case f.Name == "config" || f.Name == "version":
		case !ok:
			t.Errorf("%s is not in the file", f.Name)
		case value != f.DefValue && !strings.HasPrefix(f.Name, "zap-"):
			t.Errorf("%s is %s in the file and %s by default", f.Name, value, f.DefValue)
		}
	})
}
