// SPDX-License-Identifier: Apache-2.0

// Package debian provides programs of Debian packages to tests, such as container runtimes and browsers. It installs missing
// packages with apt-get, which needs root. Several processes may use it at once: one installs and the others wait.
package debian

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Programs returns the paths of programs, and first installs the packages of missing ones. needed holds the package of each
// program. progress says what is being installed.
func Programs(ctx context.Context, needed map[string]string, progress io.Writer) (map[string]string, error) {
	paths, missing := look(needed)
	if len(missing) == 0 {
		return paths, nil
	}
	installing, err := lock()
	if err != nil {
		return nil, err
	}
	defer func() { _ = installing.Close() }()
	if paths, missing = look(needed); len(missing) == 0 {
		return paths, nil // another has installed them
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, fmt.Errorf("%s and apt-get are missing", strings.Join(missing, ", "))
	}
	fmt.Fprintf(progress, "installing %s with apt-get ...\n", strings.Join(missing, ", "))
	install := append([]string{"install", "--no-install-recommends"}, missing...)
	err = aptGet(ctx, install...)
	if err != nil && aptGet(ctx, "update") == nil { // the list of packages was missing or old
		err = aptGet(ctx, install...)
	}
	if err != nil {
		return nil, err
	}
	if paths, missing = look(needed); len(missing) > 0 {
		return nil, fmt.Errorf("the program of package %s is missing after installation", strings.Join(missing, ", "))
	}
	return paths, nil
}

// lock waits until no other process and no other goroutine installs packages. The lock ends when the file is closed.
func lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "sunset-debian.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return file, nil
}

func aptGet(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-y", "-q", "-o", "DPkg::Lock::Timeout=600"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func look(needed map[string]string) (paths map[string]string, missing []string) {
	paths = map[string]string{}
	for program, from := range needed {
		path, err := exec.LookPath(program)
		if err != nil && !slices.Contains(missing, from) {
			missing = append(missing, from)
		}
		paths[program] = path
	}
	slices.Sort(missing)
	return paths, missing
}
