// SPDX-License-Identifier: Apache-2.0

package mutants

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/overlay"
)

// variable is the environment variable that makes TestMutantsAreKilled run mutants: "all", or a regular expression for
// titles.
const variable = "SUNSET_MUTANTS"

const root = "../.."

// TestMutantsFit checks that every change still fits the source, and that every named test exists.
func TestMutantsFit(t *testing.T) {
	for name, m := range all {
		source, err := os.ReadFile(filepath.Join(root, m.File))
		if err == nil {
			_, err = m.patch().Apply(string(source))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		directory, test, _ := strings.Cut(m.Test, " ")
		if !hasTest(t, directory, test) {
			t.Errorf("%s: test %s not found in %s", name, test, directory)
		}
	}
}

func hasTest(t *testing.T, directory, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, directory, "*_test.go"))
	expect.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), fmt.Sprintf("func %s(", name))
	})
}

// TestMutantsAreKilled runs the named test of every mutant. The test must fail. Each mutant takes a few seconds.
func TestMutantsAreKilled(t *testing.T) {
	chosen := os.Getenv(variable)
	if chosen == "" {
		t.Skipf("set %s=all to run it, or run make mutants", variable)
	}
	if chosen == "all" {
		chosen = ""
	}
	names := regexp.MustCompile(chosen)
	killed, tried := 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !names.MatchString(name) {
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			if out, alive := survives(t, all[name]); alive {
				t.Errorf("test %s passes with the mutant\n%s", all[name].Test, out)
				return
			}
			killed++
		})
	}
	t.Logf("%d of %d mutants are killed", killed, tried)
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL|^panic: `)

// survives runs the test of a mutant. A failed build is an error in the table, not a killed mutant.
func survives(t *testing.T, m Mutant) (out []byte, alive bool) {
	t.Helper()
	absolute, err := filepath.Abs(root)
	expect.NoError(t, err)
	changed, err := overlay.New(absolute, m.patch())
	expect.NoError(t, err)
	defer changed.Remove()
	directory, test, _ := strings.Cut(m.Test, " ")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", changed.Path(), "-count=1", "-timeout=3m", "-run", "^"+test+"$", directory)
	cmd.Dir = absolute
	out, err = cmd.CombinedOutput()
	if err != nil && !failed.Match(out) {
		t.Fatalf("%v\n%s", err, out)
	}
	return out, err == nil
}
