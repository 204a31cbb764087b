// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

const etcdMod = "module go.etcd.io/etcd/server/v3\n\ngo 1.26.0\n"

// fakeBuilder builds an "etcd" of one file, so that a build is quick.
func fakeBuilder(t *testing.T, cache, program string, progress *bytes.Buffer) *builder {
	t.Helper()
	source := t.TempDir()
	for name, text := range map[string]string{"go.mod": etcdMod, "main.go": program} {
		expect.NoError(t, os.WriteFile(filepath.Join(source, name), []byte(text), 0o644))
	}
	mod := []byte("require go.etcd.io/etcd/server/v3 v3.0.0\n")
	return &builder{source: source, cache: cache, mod: mod, flags: []string{"-trimpath"}, progress: progress}
}

func TestBuildersBuildComponentOnce(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=vendor -tags=other") // meant for another module
	t.Setenv("GOOS", "plan9")
	cache := t.TempDir()
	var out [2]bytes.Buffer
	var wg sync.WaitGroup
	for i := range out {
		b := fakeBuilder(t, cache, "package main\n\nfunc main() {}\n", &out[i])
		wg.Go(func() {
			if _, err := b.binary(t.Context(), Etcd); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := out[0].String() + out[1].String()
	if n := strings.Count(all, "building etcd v3.0.0 from the Go module proxy"); n != 1 {
		t.Errorf("built %d times, want once:\n%s", n, all)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*.new")); len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
}

func TestFailedBuildShowsTheCompiler(t *testing.T) {
	cache := t.TempDir()
	b := fakeBuilder(t, cache, "package main\n\nfunc main() { undefinedThing() }\n", &bytes.Buffer{})
	_, err := b.binary(t.Context(), Etcd)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefinedThing") {
		t.Errorf("error = %v, want the compiler's message", err)
	}
	if _, err := os.Stat(filepath.Join(cache, "etcd")); err == nil {
		t.Error("a failed build left a binary in the cache")
	}
}
