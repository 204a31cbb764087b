// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Registry is a registry on 127.0.0.1, without TLS, which containerd does not require there.
type Registry struct {
	// Host is its address with port, the first part of the names of its images.
	Host string

	mu        sync.Mutex
	manifests map[string]made // by name without host, with tag and with digest
	blobs     map[string][]byte
	hold      chan struct{} // nil unless layers are held back; closed when they no longer are
	held      chan struct{} // one value for each requested layer that is held back
}

// StartRegistry starts a registry that ends with the test.
func StartRegistry(t testing.TB) *Registry {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Registry{
		Host:      listener.Addr().String(),
		manifests: map[string]made{},
		blobs:     map[string][]byte{},
		held:      make(chan struct{}, 1000),
	}
	server := &http.Server{Handler: r}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		r.Release()
		_ = server.Close()
	})
	return r
}

// Add adds an image that can be pulled as Host/path:tag, and returns that name. The image's own tags only make it unique.
func (r *Registry) Add(path, tag string, i Image) string {
	m := i.make()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manifests[path+":"+tag] = m
	r.manifests[path+":"+m.manifest.Digest] = m
	for digest, blob := range m.blobs {
		r.blobs[digest] = blob
	}
	return r.Host + "/" + path + ":" + tag
}

// Hold holds back all blobs from now on, so that a pull does not complete until Release.
func (r *Registry) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold == nil {
		r.hold = make(chan struct{})
	}
}

// Held returns when a client waits for a blob that is held back.
func (r *Registry) Held(ctx context.Context) error {
	select {
	case <-r.held:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release ends Hold.
func (r *Registry) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold != nil {
		close(r.hold)
		r.hold = nil
	}
}

// ServeHTTP serves the part of the distribution specification that a pull needs.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	path := strings.TrimPrefix(q.URL.Path, "/v2/")
	if path == "" {
		return // 200: this is a registry
	}
	if repository, reference, ok := strings.Cut(path, "/manifests/"); ok {
		r.mu.Lock()
		m, ok := r.manifests[repository+":"+reference]
		r.mu.Unlock()
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Docker-Content-Digest", m.manifest.Digest)
		give(w, q, manifestType, m.blobs[m.manifest.Digest])
		return
	}
	_, digest, _ := strings.Cut(path, "/blobs/")
	r.mu.Lock()
	blob, ok := r.blobs[digest]
	hold := r.hold
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, q)
		return
	}
	if hold != nil && q.Method == http.MethodGet {
		r.held <- struct{}{}
		select {
		case <-hold:
		case <-q.Context().Done():
			return
		}
	}
	give(w, q, "application/octet-stream", blob)
}

func give(w http.ResponseWriter, q *http.Request, mediaType string, content []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if q.Method != http.MethodHead {
		_, _ = w.Write(content) // the client may have disconnected
	}
}
