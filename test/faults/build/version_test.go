// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
)

func TestEarlierVersionComesFromHistory(t *testing.T) {
	repository, dir := t.TempDir(), filepath.Join(t.TempDir(), "earlier")
	git(t, repository, "init", "--quiet")
	for _, version := range []string{"first", "second"} {
		expect.NoError(t, os.WriteFile(filepath.Join(repository, "version"), []byte(version), 0o600))
		git(t, repository, "add", "version")
		git(t, repository, "-c", "user.name=nobody", "-c", "user.email=nobody", "-c", "commit.gpgSign=false", "commit", "--quiet", "-m", version)
	}
	expect.NoError(t, checkOut(repository, "HEAD~1", dir))
	if text, err := os.ReadFile(filepath.Join(dir, "version")); string(text) != "first" {
		t.Errorf("version is %s, error %v", text, err)
	}
}

func TestHistoryThatIsNotThereSaysWhatToDo(t *testing.T) {
	repository := t.TempDir()
	git(t, repository, "init", "--quiet")
	err := checkOut(repository, EarlierCommit, filepath.Join(t.TempDir(), "earlier"))
	if err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("%v", err)
	}
}

func git(t *testing.T, repository string, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
}
