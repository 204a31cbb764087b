// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// program describes a program that builds need. Its time must suffice to download packages, and to compile them on a slow machine.
type program struct {
	use, install string
	longest      time.Duration
}

var programs = map[string]program{
	"go":   {"it compiles the engine", "see https://go.dev/doc/install", 40 * time.Minute},
	"node": {"it builds the pages", "run apt-get install nodejs, or see https://nodejs.org/en/download", 15 * time.Minute},
	"npm":  {"it downloads the packages that package-lock.json pins", "run apt-get install npm; other downloads of Node contain npm: see https://nodejs.org/en/download", 20 * time.Minute},
	"zstd": {"it compresses the engine", "run apt-get install zstd or brew install zstd, or see https://github.com/facebook/zstd/releases", 10 * time.Minute},
}

// grace is how long programs have to end after an interrupt.
const grace = 5 * time.Second

// find returns an error for each program that is not in the PATH.
func find(names ...string) (err error) {
	for _, name := range names {
		if _, missing := exec.LookPath(name); missing != nil {
			err = errors.Join(err, fmt.Errorf("program %q is missing; %s; to install it, %s", name, programs[name].use, programs[name].install))
		}
	}
	return err
}

// run runs a program in a directory, and returns its output. Its error ends with what the program printed. If the context ends, or the
// program takes too long, run also ends the processes that the program has started.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	if err := find(name); err != nil {
		return "", err
	}
	longest := programs[name].longest
	ctx, cancel := context.WithTimeoutCause(ctx, longest, fmt.Errorf("stopped after %s", longest))
	defer cancel()
	command, output, failures := exec.CommandContext(ctx, name, args...), bytes.Buffer{}, bytes.Buffer{}
	command.Dir, command.Stdout, command.Stderr = dir, &output, &failures
	command.Env = append(command.Environ(), env...)
	err := runGroup(command)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, output.Bytes(), failures.Bytes())
	}
	return strings.TrimSpace(output.String()), err
}

// runGroup runs a command in a process group of its own. If the context of the command ends, it interrupts the group, and kills what is
// left of it after the grace period. Go removes its temporary files only after an interrupt.
func runGroup(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = grace
	if err := command.Start(); err != nil {
		return err
	}
	err := command.Wait()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	return err
}
