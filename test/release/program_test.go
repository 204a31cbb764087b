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

	"github.com/sunset-k8s/sunset/test/expect"
)

// TestArchiveOfThisMachine: the program in the archive runs, and prints the version of the archive.
func TestArchiveOfThisMachine(t *testing.T) {
	const version = "v1.2.3"
	dir, here := t.TempDir(), platform{runtime.GOOS, runtime.GOARCH}
	t.Chdir("../..")
	expect.NoError(t, build(here, version, dir, at))
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
	expect.NoError(t, err)
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	expect.NoError(t, err)
	archive := tar.NewReader(unzipped)
	header, err := archive.Next()
	expect.NoError(t, err)
	path := filepath.Join(t.TempDir(), header.Name)
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode())
	expect.NoError(t, err)
	if _, err := io.Copy(to, archive); err != nil {
		t.Fatal(err)
	}
	expect.NoError(t, to.Close())
	return path
}
