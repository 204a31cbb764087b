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

// process is one child that was started. It is signalled only through the
// handle the kernel gave us at its start, so never a later owner of its pid.
type process struct {
	cmd    *exec.Cmd
	log    string
	offset int64         // where this run's lines begin in the log
	done   chan struct{} // closed when the child has ended
	err    error         // how it ended; valid once done is closed
	ended  bool          // we asked it to end
}

// command is what to run: a program, its arguments, its directory, its log.
type command struct {
	path, dir, log string
	args           []string
	env            []string                       // on top of the clean environment
	attr           func(*syscall.SysProcAttr)     // nil: dies with its parent, and no more
	spawn          func(start func() error) error // nil: the function spawn
}

// launch starts cmd in its own process group, with both outputs in its log and
// a clean environment, because etcd and kwok read options from variables.
func launch(c command) (*process, error) {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	cmd.Env = append([]string{"HOME=" + c.dir, "TMPDIR=" + c.dir, "PATH=" + os.Getenv("PATH")}, c.env...)
	cmd.SysProcAttr = diesWithParent()
	if c.attr != nil {
		c.attr(cmd.SysProcAttr)
	}
	if c.spawn == nil {
		c.spawn = spawn
	}
	if err := c.spawn(cmd.Start); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: c.log, offset: offset, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// await polls until ready returns nil, the child has ended, or time is up.
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

// exited tells whether the child has ended.
func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// crashed is why the child ended although nobody asked it to; nil otherwise.
func (p *process) crashed() error {
	if p.ended || !p.exited() {
		return nil
	}
	return fmt.Errorf("ended by itself (%v)\n%s", p.cmd.ProcessState, p.tail())
}

// terminate asks the child to end, which it may do in its own time.
func (p *process) terminate() {
	p.ended = true
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have been paused
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

// output is what this run wrote, the last 64 KiB of it.
func (p *process) output() []byte { return readFrom(p.log, p.offset) }

// tail is the last lines of output.
func (p *process) tail() []byte { return lastLines(p.output()) }
