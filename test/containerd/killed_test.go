// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// victim makes this test binary run a container and wait to be killed. Its value is the directory.
const victim = "SUNSET_CONTAINERD_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		wait(dir)
	}
	os.Exit(m.Run())
}

// wait never returns.
func wait(dir string) {
	ctx := context.Background() // there is not a test
	d, err := containerd.Start(ctx, containerd.Options{Lane: containerd.Debian, Dir: dir})
	if err == nil {
		var pod string
		pod, err = d.RunPod(ctx, "victim")
		if err == nil {
			_, err = d.RunContainer(ctx, containerd.Container{Pod: pod, Name: "app", Image: containerd.SandboxImage})
		}
	}
	fmt.Println("ready", err)
	select {}
}

// TestKilled: when a test process is killed, the kernel alone ends everything that it started.
func TestKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip(containerd.ErrMachine)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, cmd.Start())
	said, _ := bufio.NewReader(out).ReadString('\n')
	switch {
	case strings.Contains(said, containerd.ErrMachine.Error()):
		t.Skip(said)
	case said != "ready <nil>\n":
		t.Errorf("output of the victim: %q", said)
	case processes(t, dir) < 3: // the nest, the daemon and a shim
		t.Errorf("%d processes name %s, want more", processes(t, dir), dir)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	w := env{T: t}
	w.eventually(func() bool { return processes(t, dir) == 0 })
	// The next daemon, or the one after it, removes what the kernel cannot remove: a killed process may take a while to
	// leave its cgroup.
	name := filepath.Base(scratchIn(t, dir))
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/" + name); len(left) == 0 {
		return // cgroups v2 has another hierarchy
	}
	expect.NoError(t, os.RemoveAll(dir))
	w.eventually(func() bool {
		d, err := containerd.Start(t.Context(), containerd.Options{Lane: containerd.Debian})
		w.no(err)
		w.no(d.Stop())
		left, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
		return len(left) == 0
	})
}

// scratchIn returns the directory that a daemon created in dir.
func scratchIn(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "sunset-containerd-*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("directories of daemons: %v, %v", all, err)
	}
	return all[0]
}
