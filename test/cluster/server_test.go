// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scripted returns a server that is ready when its script has created the file ready.
func scripted(t *testing.T, script string) *server {
	dir := t.TempDir()
	s := &server{
		component: Etcd,
		program:   shellCommand(dir, ""),
		args:      func(int) []string { return []string{"-c", script} },
		ready: func(context.Context, int) error {
			_, err := os.Stat(filepath.Join(dir, "ready"))
			return err
		},
	}
	t.Cleanup(func() {
		if s.proc != nil {
			s.proc.finish(0)
		}
	})
	return s
}

func TestStartTriesAnotherPort(t *testing.T) {
	s := scripted(t, "[ -e tried ] && { touch ready; exec sleep 60; }; touch tried; echo bind: address already in use; exit 1")
	var ports []int
	args := s.args
	s.args = func(port int) []string {
		ports = append(ports, port)
		return args(port)
	}
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(ports) != 2 || ports[0] == ports[1] {
		t.Errorf("ports tried: %v, want two different ones", ports)
	}
	if err := s.restart(t.Context()); err != nil || !slices.Equal(ports[1:], []int{s.port, s.port}) {
		t.Errorf("restart: %v, ports %v; want the port kept", err, ports)
	}
}

func TestFailedStartShowsTheLog(t *testing.T) {
	err := scripted(t, "echo bad flag; exit 2").start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "bad flag") || !strings.Contains(err.Error(), "exit status 2") {
		t.Errorf("error = %v, want exit status and log", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := scripted(t, "exec sleep 60")
	ready := s.ready
	s.ready = func(ctx context.Context, port int) error {
		cancel()
		return ready(ctx, port)
	}
	if err := s.start(ctx); !errors.Is(err, context.Canceled) || !s.proc.exited() {
		t.Errorf("start = %v, exited %t; want canceled and exited", err, s.proc.exited())
	}
}
