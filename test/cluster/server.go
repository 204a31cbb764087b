// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// startTimeout bounds the time until one component is ready.
	startTimeout = 2 * time.Minute
	// startAttempts bounds the attempts to start a component while its port is in use.
	startAttempts = 5
	// grace is how long a component may take to end after a request. Killing it then loses nothing: the kernel has all
	// writes of etcd.
	grace = 3 * time.Second
)

// server is a component that listens on one port of 127.0.0.1.
type server struct {
	component Component
	program   Program                                   // without Args
	prepare   func(ctx context.Context, port int) error // runs before each start; may be nil
	args      func(port int) []string
	env       []string                                  // in addition to the usual variables
	ready     func(ctx context.Context, port int) error // must recognise this server, not any server on port
	scheme    string
	port      int // zero until the first start
	proc      *process
}

// url returns the server's URL.
func (s *server) url() string { return fmt.Sprintf("%s://127.0.0.1:%d", s.scheme, s.port) }

// start runs the server on a free port and waits until it is ready.
func (s *server) start(ctx context.Context) error {
	return s.attempt(ctx, func() (err error) {
		s.port, err = FreePort()
		return err
	})
}

// restart ends the server if it runs and starts it again on the same port.
func (s *server) restart(ctx context.Context) error {
	s.proc.terminate()
	s.proc.finish(grace)
	return s.attempt(ctx, func() error { return nil })
}

var errPortTaken = errors.New("port is in use")

// attempt starts the server, and retries while its port is in use.
func (s *server) attempt(ctx context.Context, pickPort func() error) (err error) {
	for range startAttempts {
		if err := pickPort(); err != nil {
			return err
		}
		err = s.startOnce(ctx)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", s.component, err)
	}
	return nil
}

func (s *server) startOnce(ctx context.Context) (err error) {
	if s.prepare != nil {
		if err := s.prepare(ctx, s.port); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	p := s.program
	p.Args = s.args(s.port)
	if s.proc, err = launch(p); err != nil {
		return err
	}
	err = s.proc.await(ctx, func(ctx context.Context) error { return s.ready(ctx, s.port) })
	if err == nil {
		return nil
	}
	s.proc.finish(0)
	if bytes.Contains(s.proc.output(), []byte("address already in use")) {
		err = errors.Join(errPortTaken, err)
	}
	return fmt.Errorf("%w\nlast lines of its log:\n%s", err, s.proc.tail())
}
