// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long the controller may take to finish requests in flight and release its lease.
const grace = 10 * time.Second

// controller is a sunset-controller that runs as a child process. It ends soon after its API server, so even if the demo is
// killed it outlives the demo only by seconds.
type controller struct {
	command *exec.Cmd
	log     string
	asked   atomic.Bool   // stop was called
	ended   chan struct{} // closed when the process has ended
	err     error         // an unexpected end; valid once ended is closed
}

// startController runs the binary. If the process ends before stop, it calls crashed with the cause.
func startController(binary, kubeconfig string, crashed context.CancelCauseFunc) (*controller, error) {
	c := &controller{log: binary + ".log", ended: make(chan struct{})}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	c.command = exec.Command(binary, "--kubeconfig", kubeconfig, "--namespace", systemNamespace, "--leader-elect",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	c.command.Stdout, c.command.Stderr = log, log
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C goes to the demo, which stops the controller before its API server
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	go c.wait(crashed)
	return c, nil
}

func (c *controller) wait(crashed context.CancelCauseFunc) {
	err := c.command.Wait()
	if err != nil || !c.asked.Load() {
		c.err = fmt.Errorf("sunset-controller ended unexpectedly (%v)\n%s", c.command.ProcessState, lastLines(c.log))
		crashed(c.err)
	}
	close(c.ended)
}

// stop ends the controller and waits for its exit. It returns an error if the exit failed or came before stop.
func (c *controller) stop() error {
	c.asked.Store(true)
	_ = c.command.Process.Signal(syscall.SIGTERM) // an error means that it has ended
	select {
	case <-c.ended:
	case <-time.After(grace):
		_ = c.command.Process.Kill() // an error means that it has ended
		<-c.ended
		return errors.New("sunset-controller did not end on SIGTERM and was killed")
	}
	return c.err
}

// lastLines returns the last twenty lines of a file; none if the file cannot be read, because they only explain an error.
func lastLines(path string) string {
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
