package gate

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

// Gate is a proxy before an API server. All methods may be called from any goroutine, also while requests are under way.
type Gate struct {
	address string
	server  *http.Server
	proxy   *httputil.ReverseProxy
	closed  chan struct{} // by Close

	mu        sync.Mutex
	upstream  *upstream
	open      map[net.Conn]bool // connections of clients
	diverted  []diversion
	adjust    []func(*http.Request)
	faults    []*Armed
	skew      time.Duration
	tally     Tally
	stills    []*still
	edits     []*edit
	journal   []*Entry
	records   []*record
	skewed    *disturbance // while there is a skew
	disturbed []*disturbance
}

// New opens a gate, which ends with the test. Everybody who comes through it acts as the user of config.
func New(t testing.TB, config *rest.Config) *Gate {
	t.Helper()
	g, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// Open opens a gate that lasts until it is closed. Everybody who comes through it acts as the user of config.
func Open(config *rest.Config) (*Gate, error) {
	to, err := newUpstream(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &Gate{address: "http://" + listener.Addr().String(), upstream: to, open: map[net.Conn]bool{}, closed: make(chan struct{})}
	g.proxy = newProxy()
	g.server = &http.Server{Handler: http.HandlerFunc(g.serve), ConnState: g.note, ErrorLog: silent()}
	go func() { _ = g.server.Serve(listener) }() // until it is closed
	return g, nil
}

// Close ends the gate, every connection to it and what it holds. It may be called once.
func (g *Gate) Close() {
	close(g.closed)
	_ = g.server.Close()
}

// Config reaches the API server through the gate, by plain HTTP and without credentials. Each call returns a fresh copy.
func (g *Gate) Config() *rest.Config { return &rest.Config{Host: g.address, QPS: -1} }

// Skew makes the API server's clock seem to be ahead by what is given; zero ends it.
func (g *Gate) Skew(by time.Duration) {
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

// Adjust changes requests before anything else is done with them, from now on: several do so in turn. What the journal
// and the faults see is the changed request.
func (g *Gate) Adjust(change func(*http.Request)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.adjust = append(g.adjust, change)
	g.disturbs(nil)
}

// Cut ends every connection to the gate, watches included. Whoever was connected may connect again at once.
func (g *Gate) Cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for connection := range g.open {
		_ = connection.Close()
	}
	g.tally.Cut += len(g.open)
	g.disturbs(nil).end()
}

// Retarget sends requests from now on to another API server, as the user of config, and cuts the connections.
func (g *Gate) Retarget(config *rest.Config) error {
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

// diversion sends some requests to another API server.
type diversion struct {
	match Match
	to    *upstream
}

// Divert sends the requests that match, from now on, to another API server, as the user of config.
func (g *Gate) Divert(match Match, config *rest.Config) error {
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

// towards is where a request goes. Whoever calls it holds the lock.
func (g *Gate) towards(r *http.Request) *upstream {
	for _, d := range g.diverted {
		if d.match.meets(r) {
			return d.to
		}
	}
	return g.upstream
}

// note keeps track of the connections that are open.
func (g *Gate) note(connection net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		g.open[connection] = true
	case http.StateClosed, http.StateHijacked:
		delete(g.open, connection)
	}
}

// without is a copy of a slice that lacks one of its pointers.
func without[T any](all []*T, one *T) []*T {
	return slices.DeleteFunc(slices.Clone(all), func(other *T) bool { return other == one })
}
