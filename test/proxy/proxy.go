// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Proxy is a proxy in front of an API server. All methods may be called from any goroutine, also while requests are in flight.
type Proxy struct {
	address string
	server  *http.Server
	handler *httputil.ReverseProxy
	closed  chan struct{} // closed by Close

	mu        sync.Mutex
	upstream  *upstream
	open      map[net.Conn]bool // client connections
	diverted  []diversion
	adjust    []func(*http.Request)
	faults    []*Armed
	skew      time.Duration
	counts    Counts
	freezes   []*still
	edits     []*edit
	journal   []*Entry
	records   []*record
	skewed    *disturbance // nil without a skew
	disturbed []*disturbance
}

// New starts a proxy that ends with the test. All its clients act as the user of config.
func New(t testing.TB, config *rest.Config) *Proxy {
	t.Helper()
	g, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// Open starts a proxy that runs until Close. All its clients act as the user of config.
func Open(config *rest.Config) (*Proxy, error) {
	to, err := newUpstream(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &Proxy{address: "http://" + listener.Addr().String(), upstream: to, open: map[net.Conn]bool{}, closed: make(chan struct{})}
	g.handler = newProxy()
	g.server = &http.Server{Handler: http.HandlerFunc(g.serve), ConnState: g.note, ErrorLog: silent()}
	go func() { _ = g.server.Serve(listener) }() // until it is closed
	return g, nil
}

// Close stops the proxy, closes all its connections and ends its held requests. It may be called once.
func (g *Proxy) Close() {
	close(g.closed)
	_ = g.server.Close()
}

// Config returns a configuration that reaches the API server through the proxy, by plain HTTP and without credentials. Each call
// returns a new copy.
func (g *Proxy) Config() *rest.Config { return &rest.Config{Host: g.address, QPS: -1} }

// Skew makes the API server's clock appear to be ahead by the given duration; zero ends the skew.
func (g *Proxy) Skew(by time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.skew = by
	if g.skewed != nil {
		g.skewed.end()
	}
	if by != 0 {
		g.skewed = g.disturbs(nil)
	}
}

// Adjust changes each request from now on, before any other step. Several adjustments apply in order. The journal and the faults
// see the changed request.
func (g *Proxy) Adjust(change func(*http.Request)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.adjust = append(g.adjust, change)
	g.disturbs(nil)
}

// Cut closes every connection to the proxy, watches included. Clients can reconnect immediately.
func (g *Proxy) Cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for connection := range g.open {
		_ = connection.Close()
	}
	g.counts.Cut += len(g.open)
	g.disturbs(nil).end()
}

// Retarget sends requests from now on to another API server, as the user of config, and closes the connections.
func (g *Proxy) Retarget(config *rest.Config) error {
	to, err := newUpstream(config)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.upstream = to
	g.mu.Unlock()
	g.Cut()
	return nil
}

// diversion sends matching requests to another API server.
type diversion struct {
	match Match
	to    *upstream
}

// Divert sends matching requests from now on to another API server, as the user of config.
func (g *Proxy) Divert(match Match, config *rest.Config) error {
	to, err := newUpstream(config)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.diverted = append(g.diverted, diversion{match, to})
	g.disturbs(nil)
	return nil
}

// towards returns the server that receives a request. The caller holds the lock.
func (g *Proxy) towards(r *http.Request) *upstream {
	for _, d := range g.diverted {
		if d.match.meets(r) {
			return d.to
		}
	}
	return g.upstream
}

// note keeps track of open connections.
func (g *Proxy) note(connection net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		g.open[connection] = true
	case http.StateClosed, http.StateHijacked:
		delete(g.open, connection)
	}
}

// without returns a copy of the slice without the given pointer.
func without[T any](all []*T, one *T) []*T {
	return slices.DeleteFunc(slices.Clone(all), func(other *T) bool { return other == one })
}
