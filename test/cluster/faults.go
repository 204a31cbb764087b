// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Kill ends a component with SIGKILL, like a crash, and returns when it has ended. It returns no error if the component
// does not run.
func (c *Cluster) Kill(component Component) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(component)
	if err != nil {
		return err
	}
	s.proc.finish(0)
	return nil
}

// Restart starts a component again on its port and with its data, and returns when it is ready. If the component still
// runs, Restart asks it to end first, and kills it after three seconds.
func (c *Cluster) Restart(ctx context.Context, component Component) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(component)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	return s.restart(ctx)
}

// Pause stops a component with SIGSTOP, like a suspended machine. The component keeps its connections. When Pause returns,
// all its threads have stopped.
func (c *Cluster) Pause(component Component) error {
	if err := c.signal(component, syscall.SIGSTOP); err != nil {
		return err
	}
	if err := unix.Waitid(unix.P_PID, c.PID(component), nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		return fmt.Errorf("wait until %s stops: %w", component, err)
	}
	return nil
}

// Resume continues a paused component.
func (c *Cluster) Resume(component Component) error { return c.signal(component, syscall.SIGCONT) }

func (c *Cluster) signal(component Component, signal syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(component)
	if err != nil {
		return err
	}
	if err := s.proc.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("%s to %s: %w", signal, component, err)
	}
	return nil
}

// PID is the process id of a component, running or not, for reading its memory and CPU time from /proc; zero if the cluster
// has no such component.
func (c *Cluster) PID(component Component) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(component)
	if err != nil {
		return 0
	}
	return s.proc.cmd.Process.Pid
}

// URL is the address of a component, without a path; empty if the cluster has no such component. Its /metrics needs no
// credentials, except the API server's. The authority in Config().CAData issues the servers' certificates.
func (c *Cluster) URL(component Component) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.find(component)
	if err != nil {
		return ""
	}
	return s.url()
}

func (c *Cluster) find(component Component) (*server, error) {
	for _, s := range c.servers {
		if s.component == component {
			return s, nil
		}
	}
	return nil, fmt.Errorf("this cluster has no %s", component)
}
