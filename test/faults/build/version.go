package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BeforeReferences is a commit of 2026-11-22 whose policies cannot declare references yet.
const BeforeReferences = "c86cdb6d68e240bce256bf12e2bfb1c03fb5ba96"

// Version is what one version of Sunset brings to a cluster.
type Version struct {
	Commit     string // in the history of the repository; empty for the version that is under test
	Controller string // the path of the program
	CRDs       string // the directory with its CustomResourceDefinitions
}

// IsToday reports whether it is the version that is under test.
func (v Version) IsToday() bool { return v.Commit == "" }

// String is how a log names it.
func (v Version) String() string {
	if v.IsToday() {
		return "today's version"
	}
	return "the version of commit " + v.Commit[:7]
}

// Today is the version that is under test, with the controller that Default builds.
func Today(t testing.TB) Version {
	t.Helper()
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return Version{Controller: Default(t), CRDs: filepath.Join(root, "crds")}
}

// Earlier is the version of a commit, by its full hash.
func Earlier(t testing.TB, commit string) Version {
	t.Helper()
	dir := once(t, commit, func(dir string) error {
		root, err := root()
		if err != nil {
			return err
		}
		if err := checkOut(root, commit, dir); err != nil {
			return err
		}
		return goIn(dir, "build", "-o", "controller", controller)
	})
	return Version{Commit: commit, Controller: filepath.Join(dir, "controller"), CRDs: filepath.Join(dir, "crds")}
}

// checkOut puts the files of a commit into a directory that it makes.
func checkOut(repository, commit, dir string) error {
	packed := dir + ".tar"
	if out, err := exec.Command("git", "-C", repository, "archive", "--output", packed, commit).CombinedOutput(); err != nil {
		return fmt.Errorf("take commit %s from the history of the repository: %w\n%s"+
			"a clone that is not whole gets the rest with `git fetch --unshallow`", commit, err, out)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if out, err := exec.Command("tar", "-xf", packed, "-C", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack commit %s: %w\n%s", commit, err, out)
	}
	return nil
}
