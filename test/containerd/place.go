// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/test/scratch"
)

const (
	memory       = "/dev/shm"
	enoughMemory = 2 << 30
	pattern      = "sunset-containerd-*"
	cgroups      = "/sys/fs/cgroup"
)

// newScratch creates the daemon's directory, and first removes directories of dead processes.
func newScratch(parent string) (*scratch.Dir, error) {
	if parent == "" {
		parent = os.TempDir()
		if hasRoom(memory, enoughMemory) {
			parent = memory
		}
	}
	dir, err := scratch.New(parent, pattern)
	sweepCgroups(parent)
	return dir, err
}

// cgroupsOf returns the directories of a cgroup: one, or in version 1 one for each controller.
func cgroupsOf(name string) []string {
	one, _ := filepath.Glob(filepath.Join(cgroups, name))
	each, _ := filepath.Glob(filepath.Join(cgroups, "*", name))
	return append(one, each...)
}

// sweepCgroups removes cgroups whose directory no longer exists at any possible place, unless a process names it: another test may have
// a daemon at a place of its own. A cgroup with a process remains.
func sweepCgroups(parent string) {
	for _, dir := range cgroupsOf(pattern) {
		isOwned := slices.ContainsFunc([]string{parent, memory, os.TempDir()}, func(place string) bool {
			_, err := os.Stat(filepath.Join(place, filepath.Base(dir)))
			return err == nil
		})
		if !isOwned && !isNamed(filepath.Base(dir)) {
			_ = removeTree(dir) // best effort: the next daemon retries
		}
	}
}

// isNamed reports whether the command line of a process has this name. Those of daemons, shims and nests have the path of their directory.
func isNamed(name string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(line string) bool {
		text, err := os.ReadFile(line)
		return err == nil && bytes.Contains(text, []byte(name))
	})
}

// removeCgroups removes a cgroup. It retries while the last process has not left it.
func removeCgroups(name string) (err error) {
	for _, dir := range cgroupsOf(name) {
		for range 3000 { // a minute
			if err = removeTree(dir); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes a cgroup and those below it, deepest first. The files in them cannot be removed and need not be.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		if gone := os.Remove(dir); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
