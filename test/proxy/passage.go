// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// upstream is an API server and the user that the proxy acts as.
type upstream struct {
	url       *url.URL
	transport http.RoundTripper
}

func newUpstream(config *rest.Config) (*upstream, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return &upstream{url: target, transport: transport}, nil
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// passage is one request that passes through the proxy.
type passage struct {
	proxy   *Proxy
	request *http.Request // as the client sent it, adjusted
	body    []byte        // of writes
	to      *upstream
	entry   *Entry
	struck  []*Armed
	end     context.CancelFunc // of a request that outlives its client; nil for other requests
}

type passageKey struct{}

func passageOf(r *http.Request) *passage {
	p, _ := r.Context().Value(passageKey{}).(*passage)
	return p
}

// Body returns the body of a write, for a Match that inspects it. It is nil for a request that did not come through a proxy.
func Body(r *http.Request) []byte {
	if p := passageOf(r); p != nil {
		return p.body
	}
	return nil
}

func (g *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	p, err := g.enter(r)
	if err != nil {
		reset(w)
		return
	}
	defer p.left()
	switch answer, pass := p.applyFaults(); {
	case !pass:
		reset(w)
	case answer != nil:
		p.note(func(e *Entry) { e.Code = answer.Code })
		answer.write(w)
	default:
		g.handler.ServeHTTP(w, p.request)
	}
}

// enter reads and adjusts a request, adds it to the journal, and determines the faults that apply to it.
func (g *Proxy) enter(r *http.Request) (*passage, error) {
	p := &passage{proxy: g}
	if r.Method != http.MethodGet {
		var err error
		if p.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(p.body))
	}
	p.request = r.WithContext(context.WithValue(r.Context(), passageKey{}, p))
	g.mu.Lock()
	adjust := g.adjust
	g.mu.Unlock()
	for _, change := range adjust {
		change(p.request)
	}
	p.entry = newEntry(p.request, p.body)
	g.mu.Lock()
	defer g.mu.Unlock()
	p.to = g.towards(p.request)
	g.write(p)
	p.struck = g.match(p)
	return p, nil
}

// note changes the journal entry of a request.
func (p *passage) note(change func(*Entry)) {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	change(p.entry)
}

// await waits for a value on the channel. It returns false if the client disconnects or the proxy closes first.
func await[T any](p *passage, what <-chan T) bool {
	select {
	case <-what:
		return true
	case <-p.request.Context().Done():
	case <-p.proxy.closed:
	}
	return false
}

// outlive lets a request continue without its client.
func (p *passage) outlive() {
	if p.end != nil {
		return
	}
	var ctx context.Context
	ctx, p.end = context.WithCancel(context.WithoutCancel(p.request.Context()))
	p.request = p.request.WithContext(ctx)
}

func (p *passage) left() {
	if p.end != nil {
		p.end()
	}
	p.note(func(e *Entry) {
		if e.Done.IsZero() {
			e.Done = time.Now()
		}
	})
}

// newProxy returns a proxy that forwards the requests of passages.
func newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { passageOf(r.In).forward(r.Out) },
		Transport:      roundTripper{},
		FlushInterval:  -1, // flushes watch events immediately
		ErrorLog:       silent(),
		ModifyResponse: func(response *http.Response) error { return passageOf(response.Request).back(response) },
		ErrorHandler:   func(w http.ResponseWriter, r *http.Request, _ error) { reset(w) },
	}
}

// roundTripper sends a request by the transport of its upstream.
type roundTripper struct{}

func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	return passageOf(r).to.transport.RoundTrip(r)
}

// forward prepares the request that the API server receives.
func (p *passage) forward(out *http.Request) {
	p.note(func(e *Entry) { e.Forwarded = true })
	out.URL.Scheme, out.URL.Host, out.Host = p.to.url.Scheme, p.to.url.Host, ""
	out.Header.Set("Accept-Encoding", "identity")
	out.Header.Set("Audit-ID", p.entry.ID)
	if accept := out.Header.Get("Accept"); accept != "" {
		out.Header.Set("Accept", onlyJSON(accept))
	}
}

// onlyJSON removes binary formats from an Accept header.
func onlyJSON(accept string) string {
	var kept []string
	for part := range strings.SplitSeq(accept, ",") {
		if !strings.Contains(part, "protobuf") && !strings.Contains(part, "cbor") {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return strings.ReplaceAll(accept, "application/vnd.kubernetes.protobuf", "application/json")
	}
	return strings.Join(kept, ",")
}

var errDropped = errors.New("dropped by the test proxy")

// back changes an answer before the client receives it. If it returns an error, the answer is lost.
func (p *passage) back(response *http.Response) error {
	p.note(func(e *Entry) { e.Answered = response.StatusCode })
	if p.applyAfter() {
		return errDropped
	}
	if err := p.rewrite(response); err != nil {
		return err
	}
	p.date(response)
	if isWatch(p.request) && response.StatusCode == http.StatusOK {
		response.Body = newStream(p, response.Body)
		response.ContentLength = -1
	}
	p.note(func(e *Entry) { e.Code, e.Done = response.StatusCode, time.Now() })
	return nil
}

// date shifts the Date header of an answer by the skew.
func (p *passage) date(response *http.Response) {
	p.proxy.mu.Lock()
	defer p.proxy.mu.Unlock()
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil && p.proxy.skew != 0 {
		response.Header.Set("Date", date.Add(p.proxy.skew).UTC().Format(http.TimeFormat))
		p.proxy.counts.Dated++
	}
}

// rewrite lets faults change the body of an answer.
func (p *passage) rewrite(response *http.Response) error {
	for _, a := range p.struck {
		if a.fault.Rewrite == nil || isWatch(p.request) {
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		_ = response.Body.Close()
		body = a.fault.Rewrite(body)
		response.Body = io.NopCloser(bytes.NewReader(body))
		response.ContentLength = int64(len(body))
		response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return nil
}

// reset resets the client's connection, as a crashed server does.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}
