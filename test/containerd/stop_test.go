// SPDX-License-Identifier: Apache-2.0

package containerd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestStopLeavesNothingBehind: no process, mount, cgroup or file remains, even if a container still runs.
func TestStopLeavesNothingBehind(t *testing.T) {
	for _, lane := range containerd.Lanes() {
		t.Run(string(lane), func(t *testing.T) {
			dir := t.TempDir()
			d := containerd.Run(t, containerd.Options{Lane: lane, Dir: dir})
			pod, err := d.RunPod(t.Context(), "stays")
			expect.NoError(t, err)
			if _, err = d.RunContainer(t.Context(), containerd.Container{Pod: pod, Name: "app", Image: containerd.SandboxImage}); err != nil {
				t.Fatal(err)
			}
			scratch := filepath.Dir(strings.TrimPrefix(d.Endpoint, "unix://"))
			if n := processes(t, scratch); n < 2 { // the daemon and a shim
				t.Errorf("%d processes name %s, want more", n, scratch)
			}
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
			if n := processes(t, scratch); n != 0 {
				t.Errorf("%d processes name %s after Stop", n, scratch)
			}
			mounts, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil || bytes.Contains(mounts, []byte(scratch)) {
				t.Errorf("mounted: %v\n%s", err, mounts)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			for _, glob := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
				if left, _ := filepath.Glob(glob + filepath.Base(scratch)); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			}
		})
	}
}

// processes is how many have a path in their command line.
func processes(t *testing.T, path string) (n int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	expect.NoError(t, err)
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && bytes.Contains(text, []byte(path)) {
			n++
		}
	}
	return n
}
