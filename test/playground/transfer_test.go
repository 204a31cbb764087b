// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/long"
)

// mostTransferred is how many bytes a page of the site may transfer with gzip and without a cache, before and after its diagrams are drawn.
const (
	mostTransferred         = 300_000
	mostTransferredDiagrams = 1_000_000
)

// transfer serves files with gzip, and counts the bytes. It does not count what a browser reads ahead for other pages.
type transfer struct {
	files http.Handler
	mu    sync.Mutex
	bytes int
}

// ServeHTTP implements http.Handler.
func (f *transfer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	f.files.ServeHTTP(answer, r)
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, err := writer.Write(answer.Body.Bytes())
	if errors.Join(err, writer.Close()) != nil {
		http.Error(w, "gzip", http.StatusInternalServerError)
		return
	}
	if !strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch") {
		f.mu.Lock()
		f.bytes += compressed.Len()
		f.mu.Unlock()
	}
	maps.Copy(w.Header(), answer.Header())
	w.Header().Del("Content-Length")
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.Code)
	_, _ = w.Write(compressed.Bytes())
}

// take returns the bytes since the last call.
func (f *transfer) take() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.bytes
	f.bytes = 0
	return n
}

// TestPagesOfTheSiteAreSmall opens pages as a browser that has seen none of them.
func TestPagesOfTheSiteAreSmall(t *testing.T) {
	b := openBrowser(t)
	dir, err := theSite()
	expect.NoError(t, err)
	files := &transfer{files: http.FileServer(http.Dir(dir))}
	server := httptest.NewServer(files)
	defer server.Close()
	largest, of := 0, ""
	for i, page := range pagesOf(t, dir) {
		if !long.Enabled() && i%40 != 0 && page != "/index.html" {
			continue
		}
		files.take()
		b.show(server.URL + page)
		most := mostTransferred
		if value[bool](b, `document.querySelector("figure pre, figure svg") !== null`) {
			b.waitFor(`!document.querySelector("figure pre")`)
			most = mostTransferredDiagrams
		}
		n := files.take()
		if n > most || n < 1000 {
			t.Errorf("%s transfers %d bytes, at most %d are allowed", page, n, most)
		}
		if n > largest {
			largest, of = n, page
		}
	}
	t.Logf("%s transfers most: %d bytes", of, largest)
}
