// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestPatchesMatchTheLibraries fails if a new version of a library has other text.
func TestPatchesMatchTheLibraries(t *testing.T) {
	for _, p := range patches {
		module, err := run(t.Context(), "", plain, "go", "list", "-m", "-f", "{{.Dir}}", p.module)
		expect.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(module, p.file))
		expect.NoError(t, err)
		if _, err := p.patched(text); err != nil {
			t.Errorf("%s of %s: %v", p.file, p.module, err)
		}
	}
}

// TestSourcesIgnoreSettingsOfTheUser: flags and workspaces do not change the build.
func TestSourcesIgnoreSettingsOfTheUser(t *testing.T) {
	t.Setenv("GOFLAGS", "-unknown")
	t.Setenv("GOWORK", filepath.Join(t.TempDir(), "go.work"))
	root, err := Root(t.Context())
	expect.NoError(t, err)
	files, err := sourcesOf(t.Context(), root)
	expect.NoError(t, err)
	for _, file := range files {
		_, err := os.Stat(filepath.Join(root, file)) // so that go test does not use a cached result after a change
		expect.NoError(t, err)
	}
	for _, file := range []string{"go.mod", "go.sum", "cmd/playground/wasm/main.go", "cmd/playground/session.go", "cmd/kubectl-sunset/load/builtin.txt"} {
		if !slices.Contains(files, file) {
			t.Errorf("%s is not a source of the engine", file)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.IsAbs(file) || strings.HasPrefix(file, "cmd/kubectl-sunset/command/") {
			t.Errorf("%s is a source of the engine", file)
		}
	}
}

// TestSiteRefusesBases: the error comes before a build.
func TestSiteRefusesBases(t *testing.T) {
	t.Setenv("PATH", "") // so that no program runs
	for base, valid := range map[string]bool{
		"/": true, "/sunset/": true, "/a/b-c_1.2/": true,
		"": false, "sunset": false, "/sunset": false, "sunset/": false, "//": false, "//example.com/": false, "/../": false, "/a//b/": false,
		"/a b/": false, "/a?b/": false, "https://example.com/": false,
	} {
		_, err := Site(t.Context(), base)
		if refused := strings.Contains(err.Error(), `begins and ends with "/"`); refused == valid {
			t.Errorf("base %q: %v", base, err)
		}
	}
}

// TestReportsAreAboutAllSamples: also those in directories of others, and those about protected kinds.
func TestReportsAreAboutAllSamples(t *testing.T) {
	root, err := Root(t.Context())
	expect.NoError(t, err)
	reports, list, err := reportsOf(t.Context(), filepath.Join(root, "samples"))
	expect.NoError(t, err)
	if len(reports) < 80 || strings.Count(list, "\n- [") != len(reports) {
		t.Errorf("%d reports and %d links", len(reports), strings.Count(list, "\n- ["))
	}
	for name, want := range map[string]string{
		"finished-jobs": "<td>Job<td>", "unused/volumes": "<td>PersistentVolumeClaim<td>", "combining/order-does-not-matter/as-named": "<h2>Objects</h2>",
		"image-build-nodes/other-node": "<td>Image<td>",
	} {
		if !strings.Contains(reports[name], want) {
			t.Errorf("the report of %s does not contain %s:\n%.3000s", name, want, reports[name])
		}
	}
}

// TestCacheKeepsWhatIsUsed: a directory is filled once for the same inputs, and removed a week after its last use.
func TestCacheKeepsWhatIsUsed(t *testing.T) {
	t.Setenv("SUNSET_CACHE", t.TempDir())
	from, filled := t.TempDir(), 0
	get := func(text string) string {
		t.Helper()
		expect.NoError(t, os.WriteFile(filepath.Join(from, "input"), []byte(text), 0o644))
		dir, err := cached("thing", hashOf(from, []string{"input"}, "value"), func(dir string) error {
			filled++
			return os.WriteFile(filepath.Join(dir, "output"), []byte(text), 0o644)
		})
		expect.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, "output"))
		expect.NoError(t, err)
		expect.Equal(t, "output", text, string(got))
		return dir
	}
	first := get("one")
	expect.Equal(t, "second call", first, get("one"))
	expect.Equal(t, "times filled", 1, filled)
	old := time.Now().Add(-unused - time.Hour)
	expect.NoError(t, os.Chtimes(first, old, old))
	expect.Equal(t, "after a week without other builds", first, get("one"))
	expect.NoError(t, os.Chtimes(first, old, old))
	get("two")
	expect.Equal(t, "times filled", 2, filled)
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", first, err)
	}
}

// TestCacheKeepsNothingOfAFailedBuild: the next call builds again.
func TestCacheKeepsNothingOfAFailedBuild(t *testing.T) {
	t.Setenv("SUNSET_CACHE", t.TempDir())
	for range 2 {
		_, err := cached("thing", hashOf("", nil), func(string) error { return os.ErrPermission })
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("error %v", err)
		}
	}
	root, err := cacheRoot()
	expect.NoError(t, err)
	entries, err := os.ReadDir(root)
	expect.NoError(t, err)
	expect.Equal(t, "directories", 0, len(entries))
}
