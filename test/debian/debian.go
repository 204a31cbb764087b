// SPDX-License-Identifier: Apache-2.0

// Package debian provides programs of Debian packages to tests, such as container runtimes and browsers. It installs missing
// packages with apt-get, which needs root. It is safe for concurrent use within a process.
package debian

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

var installing sync.Mutex

// Programs returns the paths of programs, and first installs the packages of missing ones. needed holds the package of each
// program. progress says what is being installed.
func Programs(ctx context.Context, needed map[string]string, progress io.Writer) (map[string]string, error) {
	installing.Lock()
	defer installing.Unlock()
	paths, missing := look(needed)
	if len(missing) == 0 {
		return paths, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, fmt.Errorf("%s and apt-get are missing", strings.Join(missing, ", "))
	}
	fmt.Fprintf(progress, "installing %s with apt-get ...\n", strings.Join(missing, ", "))
	install := append([]string{"install", "--no-install-recommends"}, missing...)
	err := aptGet(ctx, install...)
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

func aptGet(ctx context.Context, args ...string) error {
	// Tests of another package may be installing programs too.
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
