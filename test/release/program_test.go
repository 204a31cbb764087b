package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTheArchiveOfThisMachine: the program in the archive runs, and prints the version of the archive.
func TestTheArchiveOfThisMachine(t *testing.T) {
	const version = "v1.2.3"
	dir, here := t.TempDir(), platform{runtime.GOOS, runtime.GOARCH}
	t.Chdir("../..")
	if err := build(here, version, dir, at); err != nil {
		t.Fatal(err)
	}
	program := first(t, filepath.Join(dir, here.archive(version)))
	said, err := exec.Command(program, "--version").CombinedOutput()
	if want := "kubectl-sunset " + version + " (commit "; err != nil || !strings.HasPrefix(string(said), want) {
		t.Errorf("%v, %q; want %q", err, said, want)
	}
}

// first unpacks the first file of an archive.
func first(t *testing.T, name string) string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(unzipped)
	header, err := archive.Next()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), header.Name)
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, archive); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
