// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// nest is a PID namespace and a mount namespace. When its first process ends, the kernel kills all others in it. When the
// last one has ended, the kernel releases their mounts. The first process is our child and dies with us.
type nest struct {
	first cluster.Program
	work  chan func()
	done  chan struct{}
}

// newNest creates a nest whose first process is pause, with its files in dir.
func newNest(ctx context.Context, pause, dir string) (*nest, error) {
	n := &nest{work: make(chan func()), done: make(chan struct{})}
	n.first = cluster.Program{
		Path: pause, Args: []string{"nest"}, Dir: dir, Log: dir + "/nest.log",
		Attr: func(a *syscall.SysProcAttr) { a.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS },
	}
	err := n.first.Start(ctx, func(context.Context) error {
		said, err := os.ReadFile(n.first.Log)
		if err == nil && !bytes.Contains(said, []byte("ready")) {
			err = errors.New("the nest is not ready")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	entered := make(chan error)
	go n.live(entered)
	if err := <-entered; err != nil {
		n.first.Kill()
		return nil, fmt.Errorf("enter the nest: %w", err)
	}
	return n, nil
}

// live runs functions on a thread that has entered the nest. The thread ends with the nest.
func (n *nest) live(entered chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	if unix.Gettid() == unix.Getpid() {
		go n.live(entered) // other code sees the first thread in /proc/self
		<-n.done
		return
	}
	err := n.enter()
	entered <- err
	if err != nil {
		return
	}
	for {
		select {
		case f := <-n.work:
			f()
		case <-n.done:
			return
		}
	}
}

// enter moves this thread to the mount namespace, and its future children to the PID namespace.
func (n *nest) enter() error {
	var open [2]*os.File // open both before entering the first, which has another /proc
	for i, name := range []string{"pid", "mnt"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", n.first.PID(), name))
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		open[i] = f
	}
	if err := unix.Setns(int(open[0].Fd()), unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("join PID namespace: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // otherwise the kernel refuses to move a single thread
		return fmt.Errorf("unshare working directory: %w", err)
	}
	if err := unix.Setns(int(open[1].Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("join mount namespace: %w", err)
	}
	return nil
}

// spawn calls start, which forks, on the nest's thread.
func (n *nest) spawn(start func() error) error {
	result := make(chan error, 1)
	select {
	case n.work <- func() { result <- start() }:
		return <-result
	case <-n.done:
		return errors.New("the nest has ended")
	}
}

// end kills all processes in the nest and returns when they have ended.
func (n *nest) end() {
	n.first.Kill()
	close(n.done)
}
