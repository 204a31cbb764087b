// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sunset-k8s/sunset/test/overlay"
)

// EarlierCommit is the oldest commit whose objects today's version must read. Once there are releases, it is the last one.
const EarlierCommit = "8703f1ff2788dfbe55cea6bb20d46acd77a5f38b"

// earlier makes a version to which a field of rules is unknown.
var earlier = flavour{name: "earlier", patches: []overlay.Patch{{
	File: "policy/v1alpha1/rule.go",
	Old:  `json:"events,omitempty"`,
	New:  `json:"notEvents,omitempty"`,
}}}

// Version is the controller and the CRDs of one version of Sunset.
type Version struct {
	Commit     string // in the history of the repository; empty for the version under test
	Controller string // path of the program
	CRDs       string // directory of the CustomResourceDefinitions
}

// IsToday reports whether it is the version under test.
func (v Version) IsToday() bool { return v.Commit == "" }

// String returns the version's name for logs.
func (v Version) String() string {
	if v.IsToday() {
		return "today's version"
	}
	return "the version of commit " + v.Commit[:7]
}

// Today returns the version under test, with the controller that Default builds.
func Today(t testing.TB) Version {
	t.Helper()
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return Version{Controller: Default(t), CRDs: filepath.Join(root, "crds")}
}

// Earlier returns the version of EarlierCommit, changed so that it does not know the field events of rules.
func Earlier(t testing.TB) Version {
	t.Helper()
	dir := once(t, EarlierCommit, func(dir string) error {
		root, err := root()
		if err != nil {
			return err
		}
		if err := checkOut(root, EarlierCommit, dir); err != nil {
			return err
		}
		return earlier.run(dir, "-o", "controller", controller)
	})
	return Version{Commit: EarlierCommit, Controller: filepath.Join(dir, "controller"), CRDs: filepath.Join(dir, "crds")}
}

// checkOut writes the files of a commit to a new directory.
func checkOut(repository, commit, dir string) error {
	packed := dir + ".tar"
	if out, err := exec.Command("git", "-C", repository, "archive", "--output", packed, commit).CombinedOutput(); err != nil {
		return fmt.Errorf("take commit %s from the history of the repository: %w\n%s"+
			"if the clone is shallow, run: git fetch --unshallow", commit, err, out)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if out, err := exec.Command("tar", "-xf", packed, "-C", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack commit %s: %w\n%s", commit, err, out)
	}
	return nil
}
