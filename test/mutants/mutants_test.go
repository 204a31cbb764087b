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

	"github.com/sunset-k8s/sunset/test/overlay"
)

// variable is the environment variable that makes TestMutantsAreKilled run them: "all", or a regular expression of names.
const variable = "SUNSET_MUTANTS"

const root = "../.."

// TestMutantsFit: every change still fits the source, and every test that is named exists.
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
			t.Errorf("%s: there is no %s in %s", name, test, directory)
		}
	}
}

func hasTest(t *testing.T, directory, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, directory, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), fmt.Sprintf("func %s(", name))
	})
}

// TestMutantsAreKilled runs the named test of every mutant, which must fail. It takes a few seconds for each.
func TestMutantsAreKilled(t *testing.T) {
	chosen := os.Getenv(variable)
	if chosen == "" {
		t.Skipf("%s=all runs it, as make mutants does", variable)
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
				t.Errorf("%s does not notice it\n%s", all[name].Test, out)
				return
			}
			killed++
		})
	}
	t.Logf("%d of %d mutants are killed", killed, tried)
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL|^panic: `)

// survives runs the test of a mutant. A build that fails is a mistake in the table, not a kill.
func survives(t *testing.T, m Mutant) (out []byte, alive bool) {
	t.Helper()
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := overlay.New(absolute, m.patch())
	if err != nil {
		t.Fatal(err)
	}
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
