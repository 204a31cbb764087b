// SPDX-License-Identifier: Apache-2.0

package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPagesListAllKinds: the page about policies lists all kinds, and the plan for the next version of the API writes all of them again.
func TestPagesListAllKinds(t *testing.T) {
	concepts, err := os.ReadFile("../docs/concepts/policies.md")
	expect.NoError(t, err)
	compatibility, err := os.ReadFile("../docs/reference/compatibility.md")
	expect.NoError(t, err)
	_, versions, _ := strings.Cut(string(compatibility), "\n## Versions of the API\n")
	files, err := filepath.Glob("../crds/sunset-k8s.io_*.yaml")
	expect.NoError(t, err)
	if len(files) < 8 {
		t.Errorf("found only %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		var crd apiextensionsv1.CustomResourceDefinition
		expect.NoError(t, yaml.Unmarshal(text, &crd))
		names := crd.Spec.Names
		short, row := names.Plural, "| `"+names.Kind+"` |"
		if len(names.ShortNames) > 0 {
			short = names.ShortNames[0]
			row += " `" + short + "` |"
		}
		if !strings.Contains(string(concepts), row) {
			t.Errorf("docs/concepts/policies.md has no row %s", row)
		}
		if !strings.Contains(versions, short) {
			t.Errorf("docs/reference/compatibility.md, versions of the API, does not name %s", short)
		}
	}
}
