// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy is an HTTP proxy in front of an object store. All methods may be called from any goroutine, also while requests are in flight.
type Proxy struct {
	server  *httptest.Server
	forward http.Handler

	mu      sync.Mutex
	faults  []*Armed // those that have ended too
	journal []*Entry
}

// Entry is one request to the store. A PUT writes an object, a GET of a name reads one, and a GET without a name lists.
type Entry struct {
	Method   string
	Name     string // of the object in the bucket, with the prefix of the archive; empty for the bucket itself
	At       time.Time
	Done     time.Time // right before the last bytes of the answer were sent; zero while the request runs
	Code     int       // of the answer; 0 without one
	Digest   string    // SHA-256 of the body of the answer that was sent, in hexadecimal digits
	Affected bool      // by a fault
}

// NewProxy is OpenProxy until the test ends.
func NewProxy(t testing.TB, s *Store) *Proxy {
	t.Helper()
	p, err := OpenProxy(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// OpenProxy starts a proxy that runs until Close.
func OpenProxy(s *Store) (*Proxy, error) {
	to, err := url.Parse(s.Address())
	if err != nil {
		return nil, err
	}
	p := &Proxy{forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as without a proxy
		Transport:    &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16},
	}}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p, nil
}

// Close ends the proxy and all requests.
func (p *Proxy) Close() {
	p.Cut() // Close waits for requests
	p.server.Close()
}

// Address is where the proxy listens: see Store.URLAt.
func (p *Proxy) Address() string { return p.server.URL }

// Cut closes all connections. Clients can reconnect at once.
func (p *Proxy) Cut() { p.server.CloseClientConnections() }

// Journal returns a copy of all requests so far, in the order of their arrival.
func (p *Proxy) Journal() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Entry, len(p.journal))
	for i, e := range p.journal {
		all[i] = *e
	}
	return all
}

// Fault handles a request instead of the store, which it can ask.
type Fault func(w http.ResponseWriter, r *http.Request, store http.Handler)

// Armed is a fault that is armed.
type Armed struct {
	proxy *Proxy
	match func(method, name string) bool
	fault Fault
	from  time.Time

	fired int       // guarded by proxy.mu, as is to
	to    time.Time // zero until Lift
}

// Arm lets a fault handle the requests that match, until Lift. The first fault that matches a request handles it. A nil match
// matches all requests.
func (p *Proxy) Arm(match func(method, name string) bool, f Fault) *Armed {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &Armed{proxy: p, match: match, fault: f, from: time.Now()}
	p.faults = append(p.faults, a)
	return a
}

// Lift ends the fault. Requests that it handles continue. A second call does nothing.
func (a *Armed) Lift() {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	if a.to.IsZero() {
		a.to = time.Now()
	}
}

// Fired is how many requests the fault has handled.
func (a *Armed) Fired() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.fired
}

// Disturbed calls visit with the period of each fault: up to now, if it has not ended.
func (p *Proxy) Disturbed(now time.Time, visit func(from, to time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.faults {
		to := a.to
		if to.IsZero() {
			to = now
		}
		visit(a.from, to)
	}
}

// Writes matches requests that write objects whose names contain text.
func Writes(text string) func(method, name string) bool {
	return func(method, name string) bool { return method == http.MethodPut && strings.Contains(name, text) }
}

// Reads matches requests that read objects whose names contain text.
func Reads(text string) func(method, name string) bool {
	return func(method, name string) bool { return method == http.MethodGet && strings.Contains(name, text) }
}

// Deletes matches requests that delete objects whose names contain text.
func Deletes(text string) func(method, name string) bool {
	return func(method, name string) bool { return method == http.MethodDelete && strings.Contains(name, text) }
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	e, struck := p.begin(r)
	counted := &counting{ResponseWriter: w, digest: sha256.New(), last: time.Now()}
	defer func() { // also when the handler aborts the connection
		p.mu.Lock()
		defer p.mu.Unlock()
		e.Done, e.Code, e.Digest = counted.last, counted.code, hex.EncodeToString(counted.digest.Sum(nil))
	}()
	if struck == nil {
		p.forward.ServeHTTP(counted, r)
		return
	}
	struck.fault(counted, r, p.forward)
}

func (p *Proxy) begin(r *http.Request) (*Entry, *Armed) {
	e := &Entry{Method: r.Method, Name: nameIn(r.URL.Path), At: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.journal = append(p.journal, e)
	for _, a := range p.faults {
		if !a.to.IsZero() {
			continue
		}
		if a.match == nil || a.match(e.Method, e.Name) {
			a.fired++
			e.Affected = true
			return e, a
		}
	}
	return e, nil
}

// nameIn returns the name of the object in the path of an S3 request.
func nameIn(path string) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name
}

// counting notes the answer.
type counting struct {
	http.ResponseWriter
	code   int
	digest hash.Hash
	last   time.Time // of the last bytes
}

func (c *counting) WriteHeader(code int) {
	c.code, c.last = code, time.Now()
	c.ResponseWriter.WriteHeader(code)
}

func (c *counting) Write(data []byte) (int, error) {
	if c.code == 0 {
		c.code = http.StatusOK
	}
	c.last = time.Now() // the client may act on the bytes before Write returns
	n, err := c.ResponseWriter.Write(data)
	c.digest.Write(data[:n])
	return n, err
}

// Unwrap lets http.ResponseController flush.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// answerOf is the whole answer of the store.
func answerOf(store http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	store.ServeHTTP(answer, r)
	return answer
}

// drain reads the body of a request, as a store that accepts it does.
func drain(r *http.Request) []byte {
	data, _ := io.ReadAll(r.Body) // a client that disconnects has sent less
	return data
}

// replay writes an answer with another body.
func replay(w http.ResponseWriter, answer *httptest.ResponseRecorder, body []byte) {
	for key, values := range answer.Header() {
		if key != "Content-Length" {
			w.Header()[key] = values
		}
	}
	w.WriteHeader(answer.Code)
	_, _ = io.Copy(w, bytes.NewReader(body)) // the client may have disconnected
}
