// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/debian"
	"github.com/sunset-k8s/sunset/test/inputs"
)

// ErrMachine is why this machine cannot run containers. A test that needs a runtime is then skipped.
var ErrMachine = errors.New("this machine cannot run containers for tests")

// Lane is the origin of a containerd.
type Lane string

const (
	// Debian is the distribution's package, 1.6 in Debian 12: no pinned images, no image ID of containers, no image volumes.
	Debian Lane = "debian"
	// Module is the version that test/controlplane/containerd/go.mod pins, built on this machine.
	Module Lane = "module"
)

// Lanes returns all lanes. The slice is the caller's.
func Lanes() []Lane { return []Lane{Debian, Module} }

// programs are the paths of the programs of a lane.
type programs struct {
	containerd, ctr string
	dir             string // of the shim, which containerd finds through its PATH
}

// packages are the Debian packages of a lane, with one program of each.
var packages = map[Lane]map[string]string{
	Debian: {"containerd": "containerd", "ctr": "containerd", "runc": "runc"},
	Module: {"runc": "runc"},
}

// provide finds, installs or builds the programs of a lane.
func provide(ctx context.Context, lane Lane, progress io.Writer) (programs, error) {
	needed, known := packages[lane]
	switch {
	case !known:
		return programs{}, fmt.Errorf("lane %q does not exist", lane)
	case runtime.GOOS != "linux":
		return programs{}, fmt.Errorf("%w: it does not run Linux", ErrMachine)
	case os.Geteuid() != 0:
		return programs{}, fmt.Errorf("%w: the test does not run as root", ErrMachine)
	}
	paths, err := debian.Programs(ctx, needed, progress)
	if err != nil {
		return programs{}, fmt.Errorf("%w: %w", ErrMachine, err)
	}
	if lane == Debian {
		return programs{containerd: paths["containerd"], ctr: paths["ctr"], dir: filepath.Dir(paths["containerd"])}, nil
	}
	built, err := cluster.Binaries(ctx, progress, cluster.NodeComponents()...)
	return programs{containerd: built[cluster.Containerd], ctr: built[cluster.Ctr], dir: filepath.Dir(built[cluster.ContainerdShim])}, err
}

// pauseProgram builds the static program of all containers, once per process: 1.5 MB.
var pauseProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sunset-pause-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	const pkg = "github.com/sunset-k8s/sunset/test/containerd/pause"
	if err := inputs.Sources(context.Background(), pkg); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "pause")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build pause: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

// writeProgram writes an executable file. No process may fork during the write, or the child would keep the file open for
// writing.
func writeProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
