// SPDX-License-Identifier: Apache-2.0

package referrers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// server is an API server without a socket.
type server struct {
	streams bool // listings can be streamed

	mu       sync.Mutex
	kinds    map[schema.GroupVersionKind]bool
	objects  map[string][]string      // JSON, by the path of the collection
	fails    map[string]int           // status of every request for a path
	watches  map[string]int           // status of watches of a path, except streamed listings
	broken   map[string]bool          // connections for a path are refused
	garbage  map[string]bool          // responses for a path are not JSON
	frozen   map[string]bool          // responses for a path never end
	quiet    map[string]bool          // watches of a path send no bookmarks
	delays   map[string]time.Duration // until a connection for a path is open
	expires  map[string]bool          // watches of a path end with an error at once
	open     map[string]*opened
	requests []*http.Request
}

// opened is a watch.
type opened struct {
	*io.PipeWriter
	ctx context.Context
}

func newServer(streams bool) *server {
	s := &server{
		streams: streams,
		kinds:   map[schema.GroupVersionKind]bool{}, objects: map[string][]string{}, fails: map[string]int{}, watches: map[string]int{},
		broken: map[string]bool{}, garbage: map[string]bool{}, frozen: map[string]bool{}, quiet: map[string]bool{}, expires: map[string]bool{}, open: map[string]*opened{},
	}
	for _, d := range references.BuiltIn() {
		if !strings.HasPrefix(d.From.Group, "gateway.") {
			s.kinds[d.From] = true
		}
	}
	return s
}

// change changes what is served.
func (s *server) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func resourceOf(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return strings.ToLower(kind) + "es"
	}
	return strings.ToLower(kind) + "s"
}

// pathOf returns the path of a kind.
func pathOf(kind schema.GroupVersionKind) string {
	if kind.Group == "" {
		return "/api/" + kind.Version + "/" + resourceOf(kind.Kind)
	}
	return "/apis/" + kind.Group + "/" + kind.Version + "/" + resourceOf(kind.Kind)
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	delay := s.delays[r.URL.Path]
	s.mu.Unlock()
	time.Sleep(delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, r)
	switch path := r.URL.Path; {
	case s.broken[path]:
		return nil, syscall.ECONNREFUSED
	case s.fails[path] != 0:
		return answer.Status(s.fails[path]), nil
	case s.garbage[path]:
		return answer.Text(200, "<html>"), nil
	case strings.Count(path, "/") == 2 && strings.HasPrefix(path, "/apis/"):
		return s.group(strings.TrimPrefix(path, "/apis/")), nil
	}
	for kind := range s.kinds {
		if pathOf(kind) == r.URL.Path {
			return s.collection(kind, r), nil
		}
	}
	return s.version(r.URL.Path), nil
}

func (s *server) group(name string) *http.Response {
	g := metav1.APIGroup{Name: name}
	for kind := range s.kinds {
		if kind.Group == name {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: kind.GroupVersion().String(), Version: kind.Version})
		}
	}
	if g.Versions == nil {
		return answer.Status(404)
	}
	return answer.JSON(200, g)
}

func (s *server) version(path string) *http.Response {
	list := metav1.APIResourceList{}
	for kind := range s.kinds {
		if !strings.HasPrefix(pathOf(kind), path+"/") {
			continue
		}
		list.GroupVersion = kind.GroupVersion().String()
		resource := resourceOf(kind.Kind)
		list.APIResources = append(list.APIResources,
			metav1.APIResource{Name: resource + "/status", Kind: kind.Kind, Verbs: metav1.Verbs{"get"}},
			metav1.APIResource{Name: resource, Kind: kind.Kind, Verbs: metav1.Verbs{"list", "watch"}})
	}
	if list.APIResources == nil {
		return answer.Status(404)
	}
	return answer.JSON(200, list)
}

func (s *server) collection(kind schema.GroupVersionKind, r *http.Request) *http.Response {
	path, query := r.URL.Path, r.URL.Query()
	initial := query.Get("sendInitialEvents") == "true"
	switch {
	case s.frozen[path]:
		silent, _ := answer.Stream(r)
		return silent
	case query.Get("watch") != "true":
		return answer.Text(200, fmt.Sprintf(`{"metadata":{"resourceVersion":"100"},"items":[%s]}`, strings.Join(s.objects[path], ",")))
	case initial && !s.streams:
		return answer.Status(422)
	case !initial && s.watches[path] != 0:
		return answer.Status(s.watches[path])
	}
	stream, writer := answer.Stream(r)
	s.open[path] = &opened{writer, r.Context()}
	var objects []string
	if initial {
		objects = s.objects[path]
	}
	expired := !initial && s.expires[path]
	go func() {
		for _, o := range objects {
			answer.Event(writer, "ADDED", o)
		}
		if initial {
			answer.Event(writer, "BOOKMARK", `{"metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}}}`)
		}
		if expired {
			answer.Event(writer, "ERROR", answer.StatusText(410))
		}
		s.bookmark(r.Context(), writer, path)
	}()
	return stream
}

// bookmark sends a bookmark each minute until a watch is over.
func (s *server) bookmark(ctx context.Context, w io.Writer, path string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
		s.mu.Lock()
		quiet := s.quiet[path]
		s.mu.Unlock()
		if !quiet {
			answer.Event(w, "BOOKMARK", `{"metadata":{"resourceVersion":"200"}}`)
		}
	}
}

// watchOf returns the open watch of a kind; nil for none.
func (s *server) watchOf(kind schema.GroupVersionKind) *opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.open[pathOf(kind)]; w != nil && w.ctx.Err() == nil {
		return w
	}
	return nil
}

// event sends one event on the open watch of a kind.
func (s *server) event(kind schema.GroupVersionKind, event, object string) {
	answer.Event(s.watchOf(kind), event, object)
	synctest.Wait()
}

// asked returns the requests for a path since its last call.
func (s *server) asked(path string) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*http.Request
	for _, r := range s.requests {
		if r.URL.Path == path {
			found = append(found, r)
		}
	}
	s.requests = nil
	return found
}

// harness is a Watcher of a server.
type harness struct {
	*server
	*referrers.Watcher
	t     *testing.T
	index *references.Index
	*bubble.Clock
}

// watching runs a test with a running Watcher.
func watching(t *testing.T, s *server, test func(w *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, s)
		stop := bubble.Start(t, w.Start)
		test(w)
		stop()
		for _, watch := range s.open {
			if watch.ctx.Err() == nil {
				t.Error("a watch is still open")
			}
		}
	})
}

func newHarness(t *testing.T, s *server) *harness {
	t.Helper()
	clock := &bubble.Clock{}
	index := references.New(clock)
	watcher, err := referrers.New(referrers.Options{
		Config: &rest.Config{Host: "http://server", QPS: -1}, HTTP: &http.Client{Transport: s}, Clock: clock,
		Compiler: fixture.Compiler(t), Index: index,
	})
	expect.NoError(t, err)
	return &harness{server: s, Watcher: watcher, t: t, index: index, Clock: clock}
}

// expectUses checks the number of references to a target.
func (w *harness) expectUses(when string, of references.Target, want int) {
	w.t.Helper()
	if u := w.index.Of(of); u.Doubt != nil || u.Count != want {
		w.t.Errorf("%s: %v has %d references (%v), want %d", when, of, u.Count, u.Doubt, want)
	}
}

// expectDoubt checks that the references to a kind are unknown for one of these reasons.
func (w *harness) expectDoubt(when string, of references.Kind, reasons ...string) {
	w.t.Helper()
	err := w.index.Doubt(of)
	if err == nil || !slices.ContainsFunc(reasons, func(why string) bool { return strings.Contains(err.Error(), why) }) {
		w.t.Errorf("%s: doubt about %s %v, want one of %q", when, of, err, reasons)
	}
}

// wavered reports whether doubt about a kind began or ended since its last call.
func (w *harness) wavered(kind references.Kind) bool {
	for _, k := range w.index.Take().Whole {
		if k == kind {
			return true
		}
	}
	return false
}

// object returns the JSON of an object in namespace shop, with more after its metadata.
func object(name, more string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"uid-%s","resourceVersion":"101"}%s}`, name, name, more)
}

// mounting returns the JSON of a Pod that mounts a ConfigMap.
func mounting(name, configMap string) string {
	return object(name, fmt.Sprintf(`,"spec":{"volumes":[{"configMap":{"name":%q}}]}`, configMap))
}
