// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a child process. It is signalled only through the handle that the kernel returned at its start, so a signal
// never reaches a later process with the same pid.
type process struct {
	cmd    *exec.Cmd
	log    string
	offset int64         // offset of this run in the log
	done   chan struct{} // closed when the child has ended
	err    error         // the exit error; valid once done is closed
	ended  bool          // we asked it to end
}

// launch starts a program in its own process group, with both outputs in its log and a clean environment, because etcd and kwok
// read options from variables. GOGC is as in the test.
func launch(p Program) (*process, error) {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	cmd.Env = append([]string{"HOME=" + p.Dir, "TMPDIR=" + p.Dir, "PATH=" + os.Getenv("PATH"), "GOGC=" + os.Getenv("GOGC")}, p.Env...)
	cmd.SysProcAttr = diesWithParent()
	if p.Attr != nil {
		p.Attr(cmd.SysProcAttr)
	}
	if p.Spawn == nil {
		p.Spawn = spawn
	}
	if err := p.Spawn(cmd.Start); err != nil {
		return nil, err
	}
	started := &process{cmd: cmd, log: p.Log, offset: offset, done: make(chan struct{})}
	go func() {
		started.err = cmd.Wait()
		close(started.done)
	}()
	return started, nil
}

// await polls until ready returns nil, the child ends, or the time is up.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	go func() {
		select {
		case <-p.done:
			ended(fmt.Errorf("it ended: %v", p.cmd.ProcessState))
		case <-ctx.Done():
		}
	}()
	return poll(ctx, func() error { return ready(ctx) })
}

// exited reports whether the child has ended.
func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// crashed returns why the child ended unexpectedly; nil otherwise.
func (p *process) crashed() error {
	if p.ended || !p.exited() {
		return nil
	}
	return fmt.Errorf("ended unexpectedly (%v)\n%s", p.cmd.ProcessState, p.tail())
}

// terminate asks the child to end and does not wait.
func (p *process) terminate() {
	p.ended = true
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may be paused
}

// finish waits for the child to end, and kills it after grace.
func (p *process) finish(grace time.Duration) {
	p.ended = true
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return
	case <-timer.C:
	}
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

// output returns what this run wrote, at most the last 64 KiB.
func (p *process) output() []byte { return readFrom(p.log, p.offset) }

// tail returns the last lines of output.
func (p *process) tail() []byte { return lastLines(p.output()) }
