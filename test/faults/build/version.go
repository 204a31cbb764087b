package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BeforeReferences is a commit of 2026-11-22: the last one of main whose policies cannot declare references.
const BeforeReferences = "c86cdb6d68e240bce256bf12e2bfb1c03fb5ba96"

// TodaysName is the name of Today's Version.
const TodaysName = "today's version"

// Version is what one version of Sunset brings to a cluster.
type Version struct {
	Name       string
	Controller string // the path of the program
	CRDs       string // the directory with its CustomResourceDefinitions
}

// Today is the version that is under test, with the controller that Default builds.
func Today(t testing.TB) Version {
	t.Helper()
	root, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return Version{Name: TodaysName, Controller: Default(t), CRDs: filepath.Join(root, "crds")}
}

// Earlier is the version of a commit in the history of the repository.
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
	return Version{Name: "an earlier version", Controller: filepath.Join(dir, "controller"), CRDs: filepath.Join(dir, "crds")}
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
