package integration_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// gate is a proxy before the API server that can hold requests back. What it lets through is not changed.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	catch func(*http.Request) *caught // nil lets everything through
	watch func(*http.Request)         // nil sees nothing
}

// caught is a request that is held back.
type caught struct {
	arrived chan struct{} // closed when the request has arrived
	release chan struct{} // close it to let the request through
}

func newCaught() *caught { return &caught{arrived: make(chan struct{}), release: make(chan struct{})} }

func newGate(t *testing.T, plane *cluster.Cluster) *gate {
	t.Helper()
	config := plane.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.FlushInterval = -1 // watches
	proxy.ErrorLog = nil
	g := &gate{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.pass(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.CloseClientConnections)
	return g
}

func (g *gate) pass(r *http.Request) {
	g.mu.Lock()
	if g.watch != nil {
		g.watch(r)
	}
	var c *caught
	if g.catch != nil {
		c = g.catch(r)
	}
	g.mu.Unlock()
	if c == nil {
		return
	}
	close(c.arrived)
	<-c.release
}

// catchOne holds back the first request that matches.
func (g *gate) catchOne(match func(*http.Request) bool) *caught {
	c := newCaught()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.catch = func(r *http.Request) *caught {
		if !match(r) {
			return nil
		}
		g.catch = nil
		return c
	}
	return c
}

// record keeps the requests that match, with their bodies; the function it gives has those so far.
func (g *gate) record(match func(*http.Request) bool) func() []string {
	var seen []string
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watch = func(r *http.Request) {
		if !match(r) {
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body))
	}
	return func() []string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Clone(seen)
	}
}

// config reaches the API server through the gate.
func (g *gate) config() *rest.Config {
	return &rest.Config{Host: g.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{}}
}
