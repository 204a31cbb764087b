// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/overlay"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Remove()
	os.Exit(code)
}

// TestMutantsCompile checks that every patch still fits the product and compiles.
func TestMutantsCompile(t *testing.T) {
	for _, name := range Mutants() {
		t.Run(name, func(t *testing.T) { compiles(t, flavour{name: name, patches: mutants[name]}) })
	}
	t.Run("clocked", func(t *testing.T) { compiles(t, clocked) })
}

func compiles(t *testing.T, f flavour) {
	var packages []string
	for _, p := range f.patches {
		packages = append(packages, "./"+path.Dir(p.File))
	}
	root, err := root()
	expect.NoError(t, err)
	if err := f.run(root, append([]string{"-o", os.DevNull}, packages...)...); err != nil {
		t.Error(err)
	}
}

func TestPlainControllerRuns(t *testing.T) {
	out, err := exec.Command(Plain(t), "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "sunset-controller") {
		t.Errorf("%s, %v", out, err)
	}
	t.Setenv(Variable, "")
	if Default(t) != Plain(t) {
		t.Error("Default does not return the plain build")
	}
}

func TestPatchThatDoesNotFitSaysSo(t *testing.T) {
	for name, old := range map[string]string{"missing": "no such text", "twice": "e"} {
		t.Run(name, func(t *testing.T) {
			f := flavour{patches: []overlay.Patch{{File: "cmd/sunset-controller/main.go", Old: old, New: "x"}}}
			if err := f.build(os.DevNull); err == nil || !strings.Contains(err.Error(), "adapt the patch to the changed source") {
				t.Errorf("%v", err)
			}
		})
	}
}
