// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
)

// Pages are functions that return a page, by the last element of its path. The first page has an empty one. They are called for
// each request, one at a time.
type Pages map[string]func(context.Context) (*report.Page, error)

const (
	patience  = 10 * time.Second // to read a request
	writeTime = time.Minute      // to write a page, after it is complete: it may take long to read the cluster
)

// Serve serves pages until the context ends. It passes the address of the first page to started.
func Serve(ctx context.Context, pages Pages, started func(url string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &handler{host: listener.Addr().String(), token: rand.Text(), pages: pages}
	server := &http.Server{Handler: h, ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	started(fmt.Sprintf("http://%s/%s/", h.host, h.token))
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type handler struct {
	host, token string
	pages       Pages
	one         sync.Mutex
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      report.Security + "; frame-ancestors 'none'",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"Cache-Control":                "no-store",
	} {
		w.Header().Set(name, value)
	}
	page := h.find(r.URL.Path)
	switch {
	case r.Host != h.host: // a name of another site that resolves to 127.0.0.1
		http.Error(w, "use the address that the command printed", http.StatusMisdirectedRequest)
	case page == nil:
		http.Error(w, "not found; use the address that the command printed", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the pages are read-only", http.StatusMethodNotAllowed)
	default:
		h.write(r.Context(), w, page)
	}
}

// find returns the page of a path; nil if there is none, or if the token is wrong.
func (h *handler) find(path string) func(context.Context) (*report.Page, error) {
	token, name, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !found || subtle.ConstantTimeCompare([]byte(token), []byte(h.token)) != 1 {
		return nil
	}
	return h.pages[name]
}

func (h *handler) write(ctx context.Context, w http.ResponseWriter, page func(context.Context) (*report.Page, error)) {
	text, err := h.render(ctx, page)
	if err == nil {
		err = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text) // the browser may be gone
}

// render returns a page as HTML. It renders one page at a time, and does not wait for clients.
func (h *handler) render(ctx context.Context, page func(context.Context) (*report.Page, error)) ([]byte, error) {
	h.one.Lock()
	defer h.one.Unlock()
	p, err := page(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = report.Write(&b, p)
	return b.Bytes(), err
}
