// SPDX-License-Identifier: Apache-2.0

package critest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Server is a runtime on its own socket. It is safe for concurrent use.
type Server struct {
	// Endpoint is the URL of the socket, with unix://. It does not change between Down and Up.
	Endpoint string

	t      testing.TB
	socket string

	mu     sync.Mutex // guards the fields below
	state  State
	hooks  map[string]Hook
	counts map[string]int
	grpc   *grpc.Server // nil while it is down
}

// Start starts a runtime that ends with the test. It has no image, container or sandbox, and reports itself as containerd
// 2.4.2.
func Start(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri") // the path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, socket: filepath.Join(dir, "s"), hooks: map[string]Hook{}, counts: map[string]int{}}
	s.Endpoint = "unix://" + s.socket
	s.state = State{Name: "containerd", Version: "v2.4.2"}
	s.Up()
	t.Cleanup(func() {
		s.Down()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Up starts the runtime with its last state. It has no effect if the runtime is up.
func (s *Server) Up() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grpc != nil {
		return
	}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(s.intercept))
	runtimeapi.RegisterImageServiceServer(server, images{Server: s})
	runtimeapi.RegisterRuntimeServiceServer(server, containers{Server: s})
	go func() { _ = server.Serve(listener) }() // the error means that Down was called
	s.grpc = server
}

// Down simulates the end of the runtime's process: calls in flight end, and no process listens until Up.
func (s *Server) Down() {
	s.mu.Lock()
	server := s.grpc
	s.grpc = nil
	s.mu.Unlock()
	if server != nil {
		server.Stop() // which removes the socket
	}
}

// Update changes the state of the runtime. change must not keep the pointer.
func (s *Server) Update(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// read returns a part of the state, for an answer.
func read[T any](s *Server, part func(*State) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return part(&s.state)
}
