package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
)

// Program is a server that is no component of a cluster but runs as one: in its
// own process group, with both outputs in a file, ended by the kernel when this
// process dies (on Linux). Fields may be changed while it does not run. It is
// not safe for concurrent use.
type Program struct {
	Path string   // of the binary
	Args []string // without the binary's name
	Dir  string   // its working directory, HOME and TMPDIR
	Log  string   // the file that both outputs are appended to
	Env  []string // variables on top of HOME, TMPDIR and PATH, or instead of them

	// Attr changes how the kernel makes the process. Nil changes nothing.
	Attr func(*syscall.SysProcAttr)

	// Spawn calls start on the thread that shall fork, which must live as long
	// as the program. Nil means a thread that lives as long as this process.
	Spawn func(start func() error) error

	proc *process
}

// Start runs the program and returns when ready returns nil, asked again and
// again, or with the last lines of the log when it ended before or two minutes
// have passed. It does not run after an error.
func (p *Program) Start(ctx context.Context, ready func(context.Context) error) (err error) {
	name := filepath.Base(p.Path)
	c := command{path: p.Path, args: p.Args, dir: p.Dir, log: p.Log, env: p.Env, attr: p.Attr, spawn: p.Spawn}
	if p.proc, err = launch(c); err != nil {
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

// Ended is closed when the program that was started last has ended.
func (p *Program) Ended() <-chan struct{} { return p.proc.done }

// Failure is how the program that was started last has ended: nil with exit code
// 0. It must have ended.
func (p *Program) Failure() error { return p.proc.err }

// Crashed is why the program ended although nobody asked it to; nil otherwise.
func (p *Program) Crashed() error {
	if p.proc == nil {
		return nil
	}
	return p.proc.crashed()
}

// Kill ends the program as a crash would and returns when it is gone. It is no
// error if it does not run.
func (p *Program) Kill() {
	if p.proc != nil {
		p.proc.finish(0)
	}
}

// Stop asks the program to end, kills it after three seconds, and returns when
// it is gone.
func (p *Program) Stop() {
	if p.proc != nil {
		p.proc.terminate()
		p.proc.finish(grace)
	}
}

// Scratch is a temporary directory that a later one of its name removes if this
// process dies before it can.
type Scratch struct{ *scratch }

// NewScratch makes a directory in parent, which must be writable. pattern ends
// with a * for what tells it from others.
func NewScratch(parent, pattern string) (Scratch, error) {
	s, err := newScratchIn(parent, pattern)
	return Scratch{s}, err
}

// Path is where something of this name is or may be put.
func (s Scratch) Path(name string) string { return s.path(name) }

// Remove removes the directory and all that is in it.
func (s Scratch) Remove() error { return s.remove() }
