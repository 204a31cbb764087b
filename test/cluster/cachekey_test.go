// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const someMod = `module x

require (
	go.etcd.io/etcd/server/v3 v3.7.3 // indirect
	k8s.io/kubernetes v1.37.1 // indirect
	sigs.k8s.io/kwok v0.8.0 // indirect
)
`

func TestCacheKeyChangesWithEveryInput(t *testing.T) {
	flags := []string{"-trimpath"}
	key, err := kubernetesHome.cacheKey([]byte(someMod), flags)
	if err != nil {
		t.Fatal(err)
	}
	if want := "apiserver-v1.37.1_etcd-v3.7.3_kwok-v0.8.0_"; !strings.HasPrefix(key, want) {
		t.Errorf("key %q does not begin with %q", key, want)
	}
	if again, _ := kubernetesHome.cacheKey([]byte(someMod), flags); again != key {
		t.Errorf("keys of equal inputs differ: %q, %q", key, again)
	}
	for name, other := range map[string]func() (string, error){
		"version": func() (string, error) {
			return kubernetesHome.cacheKey([]byte(strings.Replace(someMod, "1.37.1", "1.37.2", 1)), flags)
		},
		"an indirect require": func() (string, error) { return kubernetesHome.cacheKey([]byte(someMod+"require y v1.0.0\n"), flags) },
		"flags":               func() (string, error) { return kubernetesHome.cacheKey([]byte(someMod), nil) },
	} {
		if k, err := other(); err != nil || k == key {
			t.Errorf("other %s: key %q, %v; want another key", name, k, err)
		}
	}
	if _, err := kubernetesHome.cacheKey([]byte("module x\n"), flags); err == nil {
		t.Error("no error for a module without requirements")
	}
}

func TestBuilderCacheIsNamedAfterItsHome(t *testing.T) {
	t.Setenv(cacheEnv, t.TempDir())
	for _, c := range slices.Concat(Components(), VolumeComponents(), NodeComponents()) {
		b, err := newBuilder(recipes[c].home, io.Discard)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		want := "apiserver-v"
		switch c {
		case Kueue:
			want = "kueue-v"
		case SnapshotController, CSISnapshotter, CSIProvisioner:
			want = "snapshot-controller-v"
		case Containerd, ContainerdShim, Ctr:
			want = "containerd-v"
		}
		if !strings.HasPrefix(filepath.Base(b.cache), want) {
			t.Errorf("%s is in %s, want it in %s...", c, filepath.Base(b.cache), want)
		}
	}
}

func TestCacheRootFollowsTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(cacheEnv, dir)
	if root, err := cacheRoot(); err != nil || root != filepath.Join(dir, "controlplane") {
		t.Errorf("root = %q, %v", root, err)
	}
}

func TestRequiredVersion(t *testing.T) {
	for text, want := range map[string]string{
		"require a.b/c v1.2.3":                    "v1.2.3",
		"require (\n\ta.b/c v1.2.3 // indirect\n": "v1.2.3",
		"replace a.b/c => a.b/c v1.2.3":           "",
		"require a.b/c/d v1.2.3":                  "",
	} {
		if got, err := requiredVersion([]byte(text), "a.b/c"); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}
