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

// nest is a PID namespace and a mount namespace. When its first process ends the kernel kills all others in it, and when
// the last one is gone it lets go of their mounts. The first process is a child of ours, which dies with us.
type nest struct {
	first cluster.Program
	work  chan func()
	done  chan struct{}
}

// newNest makes a nest whose first process is pause, with its files in dir.
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

// live does work on a thread that has entered the nest, which ends with the nest.
func (n *nest) live(entered chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
	if unix.Gettid() == unix.Getpid() {
		go n.live(entered) // the first thread is what others see in /proc/self
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

// enter moves this thread to the mount namespace, and its children to come to the PID namespace.
func (n *nest) enter() error {
	var open [2]*os.File // both before the first is entered, as /proc is another one there
	for i, name := range []string{"pid", "mnt"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", n.first.PID(), name))
		if err != nil {
			return err
		}
		defer f.Close()
		open[i] = f
	}
	if err := unix.Setns(int(open[0].Fd()), unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("its PID namespace: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // or the kernel would have to move all threads
		return fmt.Errorf("a working directory of its own: %w", err)
	}
	if err := unix.Setns(int(open[1].Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("its mount namespace: %w", err)
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
		return errors.New("the nest is gone")
	}
}

// end kills all that is in the nest and returns when it is gone.
func (n *nest) end() {
	n.first.Kill()
	close(n.done)
}
