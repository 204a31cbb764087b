// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/images/debug"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestImagesAreServed(t *testing.T) {
	seen := &debug.NodeImages{
		Taken: fixture.Now, Node: engine.Node{Name: "worker-1"},
		Images: []engine.Image{{ID: "sha256:1", Tags: []string{"a:1"}}},
	}
	away := errors.New("read images: the runtime is away")
	for name, test := range map[string]struct {
		method string
		err    error
		code   int
		want   string
	}{
		"the images": {http.MethodGet, nil, http.StatusOK, `"name":"sha256:1"`},
		"an error":   {http.MethodGet, away, http.StatusServiceUnavailable, "the runtime is away\n"},
		"a POST":     {http.MethodPost, nil, http.StatusMethodNotAllowed, "only GET"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			see := func(ctx context.Context) (*debug.NodeImages, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("the snapshot has no deadline")
				}
				return seen, test.err
			}
			serve(see, time.Now).ServeHTTP(w, httptest.NewRequest(test.method, debug.Path, nil))
			if w.Code != test.code || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%d %s; want %d and %q", w.Code, w.Body, test.code, test.want)
			}
			if read, err := debug.Read(w.Body.Bytes()); test.code == http.StatusOK && (err != nil || len(read.Images) != 1) {
				t.Errorf("the response reads as %v, %v", read, err)
			}
		})
	}
}
