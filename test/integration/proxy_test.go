package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// gate is a proxy before the API server that can hold requests back. What it lets through is not changed.
type gate struct {
	*httptest.Server
	mu    sync.Mutex
	catch func(*http.Request) *caught // nil lets everything through
	watch func(*http.Request)         // nil sees nothing

	see    func(*http.Request)         // changes requests before anything else; nil changes none; set before use
	answer func(*http.Request) *answer // answers in the API server's place; nil for no request
	done   func(*http.Request) error   // is told of each request that was carried out; its answer gets lost with an error
	shift  time.Duration               // added to the Date of every answer
	frozen chan struct{}               // while open, watches stand still; nil when they flow

	conflicts int // answers 409 of the API server to a DELETE
}

// answer is what a gate says in the API server's place.
type answer struct {
	code    int
	headers map[string]string
	reason  metav1.StatusReason
}

// caught is a request that is held back.
type caught struct {
	arrived chan struct{} // closed when the request has arrived
	release chan struct{} // close it to let the request through
}

func newCaught() *caught { return &caught{arrived: make(chan struct{}), release: make(chan struct{})} }

func newGate(t *testing.T, plane *cluster.Cluster) *gate { return newGateFor(t, plane.Config()) }

// newGateFor lets everybody who comes through the gate act as the user of a configuration.
func newGateFor(t *testing.T, config *rest.Config) *gate {
	t.Helper()
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
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	g := &gate{}
	proxy.ModifyResponse = g.alter
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := g.pass(r); a != nil {
			a.write(w)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.CloseClientConnections)
	return g
}

// pass lets a request through, at once or when it is released; what it gives is to be answered instead.
func (g *gate) pass(r *http.Request) *answer {
	if g.see != nil {
		g.see(r)
	}
	g.mu.Lock()
	if g.watch != nil {
		g.watch(r)
	}
	var c *caught
	if g.catch != nil {
		c = g.catch(r)
	}
	respond := g.answer
	g.mu.Unlock()
	if c != nil {
		close(c.arrived)
		<-c.release
	}
	if respond == nil {
		return nil
	}
	return respond(r)
}

func (a *answer) write(w http.ResponseWriter) {
	for key, value := range a.headers {
		w.Header().Set(key, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Reason: a.reason, Message: "said the gate", Code: int32(a.code),
	})
}

// answers makes the gate answer in the API server's place; nil ends it.
func (g *gate) answers(answer func(*http.Request) *answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = answer
}

// alter changes answers on their way back.
func (g *gate) alter(response *http.Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done != nil {
		if err := g.done(response.Request); err != nil {
			return err
		}
	}
	if response.StatusCode == http.StatusConflict && response.Request.Method == http.MethodDelete {
		g.conflicts++
	}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil && g.shift != 0 {
		response.Header.Set("Date", date.Add(g.shift).UTC().Format(http.TimeFormat))
	}
	if response.Request.URL.Query().Get("watch") != "" {
		response.Body = &freezable{ReadCloser: response.Body, gate: g}
	}
	return nil
}

// skew makes the API server's clock seem to be ahead.
func (g *gate) skew(by time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shift = by
}

// refused is how many DELETEs the API server has answered with 409.
func (g *gate) refused() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.conflicts
}

// freeze stops every watch without ending it; thaw lets them flow again.
func (g *gate) freeze() (thaw func()) {
	frozen := make(chan struct{})
	g.mu.Lock()
	g.frozen = frozen
	g.mu.Unlock()
	var once sync.Once
	return func() {
		once.Do(func() {
			g.mu.Lock()
			g.frozen = nil
			g.mu.Unlock()
			close(frozen)
		})
	}
}

// freezable is the body of a watch.
type freezable struct {
	io.ReadCloser
	gate *gate
}

func (f *freezable) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.gate.mu.Lock()
	frozen := f.gate.frozen
	f.gate.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return n, err
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
