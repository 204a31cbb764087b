// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
)

// Program is a server outside of a cluster that runs like a component: in its own process group, with both outputs in a
// file. On Linux the kernel ends it when this process dies. Fields may change while it does not run. It is not safe for
// concurrent use.
type Program struct {
	Path string   // of the binary
	Args []string // without the binary's name
	Dir  string   // its working directory, HOME and TMPDIR
	Log  string   // receives both outputs; appended to
	Env  []string // variables in addition to HOME, TMPDIR and PATH; may override them

	// Attr changes how the kernel starts the process. Nil changes nothing.
	Attr func(*syscall.SysProcAttr)

	// Spawn calls start on the thread that forks, which must live as long as the program. Nil means a thread that lives as
	// long as this process.
	Spawn func(start func() error) error

	proc *process
}

// Start runs the program, polls ready and returns when ready returns nil. If the program ends first or two minutes pass, it
// returns an error with the last lines of the log. After an error the program does not run.
func (p *Program) Start(ctx context.Context, ready func(context.Context) error) (err error) {
	name := filepath.Base(p.Path)
	if p.proc, err = launch(*p); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := p.proc.await(ctx, ready); err != nil {
		p.proc.finish(0)
		return fmt.Errorf("start %s: %w\nlast lines of its log:\n%s", name, err, p.proc.tail())
	}
	return nil
}

// PID is the id of the process that was started last.
func (p *Program) PID() int { return p.proc.cmd.Process.Pid }

// Signal sends a signal to the program.
func (p *Program) Signal(signal syscall.Signal) error { return p.proc.cmd.Process.Signal(signal) }

// Ended returns a channel that is closed when the program that was started last has ended.
func (p *Program) Ended() <-chan struct{} { return p.proc.done }

// Failure returns the exit error of the program that was started last: nil for exit code 0. The program must have ended.
func (p *Program) Failure() error { return p.proc.err }

// Crashed returns why the program ended unexpectedly; nil otherwise.
func (p *Program) Crashed() error {
	if p.proc == nil {
		return nil
	}
	return p.proc.crashed()
}

// Kill ends the program like a crash and returns when it has ended. It does nothing if the program does not run.
func (p *Program) Kill() {
	if p.proc != nil {
		p.proc.finish(0)
	}
}

// Stop asks the program to end, kills it after three seconds, and returns when it has ended.
func (p *Program) Stop() {
	if p.proc != nil {
		p.proc.terminate()
		p.proc.finish(grace)
	}
}
