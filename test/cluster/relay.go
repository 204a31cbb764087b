// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"net"
	"sync"
)

// Relay forwards TCP connections to a server, and can stop forwarding. All methods are safe for concurrent use.
type Relay struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	flows chan struct{}     // closed while bytes flow
	cut   bool              // connections are refused
	open  map[net.Conn]bool // both ends of each connection
	ended bool
}

// NewRelay listens on 127.0.0.1 for a server at host:port, until the process or the cluster that it belongs to ends.
func NewRelay(target string) (*Relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{listener: listener, target: target, flows: make(chan struct{}), open: map[net.Conn]bool{}}
	close(r.flows)
	go r.accept()
	return r, nil
}

// Address is the host:port on which the relay listens.
func (r *Relay) Address() string { return r.listener.Addr().String() }

// Stall stops all bytes in both directions. Connections stay open, and new ones are accepted: the server seems to exist and
// does not answer.
func (r *Relay) Stall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled() {
		return
	}
	r.flows = make(chan struct{})
}

// Cut closes every connection, and new ones immediately: clients see no server.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	r.hangUp()
}

// Heal undoes Stall and Cut. Stalled bytes arrive late; none are lost.
func (r *Relay) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = false
	if r.stalled() {
		close(r.flows)
	}
}

func (r *Relay) stalled() bool {
	select {
	case <-r.flows:
		return false
	default:
		return true
	}
}

func (r *Relay) hangUp() {
	for connection := range r.open {
		_ = connection.Close()
	}
	clear(r.open)
}

// close ends the relay. A nil relay is ignored.
func (r *Relay) close() {
	if r == nil {
		return
	}
	_ = r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.hangUp()
	if r.stalled() {
		close(r.flows)
	}
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go r.connect(near)
		}
	}
}

func (r *Relay) connect(near net.Conn) {
	far, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = near.Close()
		return
	}
	if !r.keep(near, far) {
		_ = near.Close()
		_ = far.Close()
		return
	}
	go r.pass(near, far)
	r.pass(far, near)
}

// keep records a connection. It returns false while no connections are allowed.
func (r *Relay) keep(ends ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut || r.ended {
		return false
	}
	for _, end := range ends {
		r.open[end] = true
	}
	return true
}

// pass copies bytes from one end to the other until one of them closes.
func (r *Relay) pass(to, from net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		r.wait()
		if n > 0 {
			if _, broken := to.Write(buffer[:n]); broken != nil {
				err = io.ErrClosedPipe
			}
		}
		if err != nil {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range []net.Conn{to, from} {
		_ = end.Close()
		delete(r.open, end)
	}
}

// wait blocks while the relay is stalled.
func (r *Relay) wait() {
	r.mu.Lock()
	flows := r.flows
	r.mu.Unlock()
	<-flows
}
