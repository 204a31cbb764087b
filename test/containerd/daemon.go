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
	"strings"
	"sync"
	"syscall"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/sunset-k8s/sunset/controllers/node/images/cri"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scratch"
)

// maxSocketPath is the longest path of a socket that the kernel accepts (sockaddr_un).
const maxSocketPath = 107

// Options selects a containerd and its directory.
type Options struct {
	Lane Lane

	// Dir is the parent of the daemon's directory, which contains all images. A test may choose a file system of a certain
	// size. The path must be short because it contains a socket. Empty means memory if there is enough of it, otherwise the
	// temporary directory.
	Dir string

	// Progress receives a line for each program that must be installed or built. Nil means os.Stderr.
	Progress io.Writer
}

// Daemon is a running containerd that contains only the image of sandboxes. Methods are safe for concurrent use, except
// that Kill, Restart and Stop must be called one at a time.
type Daemon struct {
	// Endpoint is the address of the daemon, with unix://. It stays the same after a restart.
	Endpoint string

	programs programs
	version  string
	scratch  *scratch.Dir
	nest     *nest
	program  cluster.Program
	runtime  *cri.Runtime
	api      *api

	mu   sync.Mutex
	pods map[string]*runtimeapi.PodSandboxConfig // by the sandbox's ID
}

// Start starts a containerd and returns when it answers. If the machine cannot run containers, the error is an ErrMachine.
// ctx bounds only the start; the daemon runs until Stop.
func Start(ctx context.Context, o Options) (_ *Daemon, err error) {
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	d := &Daemon{pods: map[string]*runtimeapi.PodSandboxConfig{}}
	if d.programs, err = provide(ctx, o.Lane, o.Progress); err != nil {
		return nil, err
	}
	version, err := exec.CommandContext(ctx, d.programs.containerd, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("version of containerd: %w", err)
	}
	if fields := strings.Fields(string(version)); len(fields) >= 3 {
		d.version = strings.TrimPrefix(fields[2], "v")
	}
	if d.scratch, err = newScratch(o.Dir); err != nil {
		return nil, err
	}
	if err := d.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("containerd of lane %s: %w", o.Lane, err), d.Stop())
	}
	return d, nil
}

// Run is Start for a test. It skips the test on a machine that cannot run containers; any other error fails the test. The
// daemon stops when the test and its subtests have ended. If the test fails, Run logs the daemon's log.
func Run(t testing.TB, o Options) *Daemon {
	t.Helper()
	d, err := Start(t.Context(), o)
	if errors.Is(err, ErrMachine) {
		t.Skip(err)
	}
	expect.NoError(t, err)
	t.Cleanup(func() {
		if log, err := os.ReadFile(d.program.Log); t.Failed() && err == nil {
			t.Logf("log of containerd:\n%s", log[max(0, len(log)-8<<10):])
		}
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// run creates the nest and starts the daemon in it.
func (d *Daemon) run(ctx context.Context) error {
	pause, err := pauseProgram()
	if err != nil {
		return err
	}
	if err := writeProgram(d.scratch.Path("pause"), pause); err != nil {
		return err
	}
	socket := d.scratch.Path("c.sock")
	if longest := socket + ".ttrpc"; len(longest) > maxSocketPath { // containerd's own socket for its shims
		return fmt.Errorf("%s is too long for the path of a socket: choose another Dir", longest)
	}
	d.Endpoint = "unix://" + socket
	if err := os.WriteFile(d.scratch.Path("config.toml"), d.config(socket), 0o600); err != nil {
		return err
	}
	// The nest mounts its own directory there. This one is never removed: other nests may use it.
	if err := os.MkdirAll("/run/containerd", 0o711); err != nil {
		return err
	}
	if d.nest, err = newNest(ctx, d.scratch.Path("pause"), d.scratch.Path("")); err != nil {
		if errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("%w: %w", ErrMachine, err)
		}
		return err
	}
	if d.runtime, err = cri.Dial(d.Endpoint, cri.Options{}); err != nil {
		return err
	}
	if d.api, err = dial(socket); err != nil {
		return err
	}
	d.program = cluster.Program{
		Path: d.programs.containerd, Args: []string{"--config", d.scratch.Path("config.toml")},
		Dir: d.scratch.Path(""), Log: d.scratch.Path("containerd.log"),
		Env:   []string{"PATH=" + d.programs.dir + ":" + os.Getenv("PATH")},
		Spawn: d.nest.spawn,
		// The nest ends the daemon. With a parent death signal, Go ends a child that does not see its parent.
		Attr: func(a *syscall.SysProcAttr) { *a = syscall.SysProcAttr{Setpgid: true} },
	}
	if err := d.Restart(ctx); err != nil {
		return err
	}
	return d.Import(ctx, Image{Tags: []string{SandboxImage}, Runnable: true})
}

// Runtime is a client of the daemon, with all defaults. It is closed by Stop.
func (d *Daemon) Runtime() *cri.Runtime { return d.runtime }

// Version is the version of the daemon, such as 1.6.20~ds1 or 2.4.2.
func (d *Daemon) Version() string { return d.version }

// isOld reports whether the version is before 2.0.
func (d *Daemon) isOld() bool { return strings.HasPrefix(d.version, "1.") }

// PID is the process id of the daemon that was started last.
func (d *Daemon) PID() int { return d.program.PID() }

// Kill ends the daemon like a crash. Containers keep running.
func (d *Daemon) Kill() { d.program.Kill() }

// Restart ends the daemon if it runs, starts it again, and returns when it answers.
func (d *Daemon) Restart(ctx context.Context) error {
	d.program.Stop()
	return d.program.Start(ctx, func(ctx context.Context) error {
		_, err := d.runtime.Images(ctx)
		return err
	})
}

// Stop ends the daemon and all its containers, and removes all its files. It returns an error if the daemon had ended
// unexpectedly before. Further calls do nothing.
func (d *Daemon) Stop() error {
	if d.scratch == nil {
		return nil
	}
	crashed := d.program.Crashed()
	d.program.Stop()
	if d.nest != nil {
		d.nest.end()
	}
	var closed []error
	if d.runtime != nil {
		closed = append(closed, d.runtime.Close())
	}
	if d.api != nil {
		closed = append(closed, d.api.Close())
	}
	err := errors.Join(crashed, errors.Join(closed...), removeCgroups(d.cgroup()), d.scratch.Remove())
	d.scratch = nil
	return err
}

// cgroup is the parent of all cgroups of containers.
func (d *Daemon) cgroup() string { return filepath.Base(d.scratch.Path("")) }
