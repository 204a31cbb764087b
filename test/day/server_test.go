// SPDX-License-Identifier: Apache-2.0

package day_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
)

// server is an API server without sockets that stores things. It checks resource versions and sends watches as a real one does.
// It delays requests, and sometimes it loses an answer.
type server struct {
	*model

	mu          sync.Mutex // guards the fields below and the model
	random      *rand.Rand // for delays; users have their own
	version     int
	things      map[string]*thing // by path
	all         map[schema.GroupVersionKind][]*thing
	log         []event
	kept        int // the version before the first event in the log
	watches     map[*watch]struct{}
	failsWrites bool // writes fail
	calm        bool // no request fails by chance
}

// event is one change of a thing.
type event struct {
	version int
	kind    schema.GroupVersionKind
	data    []byte // one line of a watch
}

// watch is an open watch.
type watch struct {
	kind schema.GroupVersionKind
	last int
	wake chan struct{}
	end  chan struct{} // closed when the server ends the watch
}

// put stores a new version of a thing. The caller holds the lock.
func (s *server) put(o *thing, what string) {
	s.version++
	o.version = s.version
	switch what {
	case "ADDED":
		s.things[o.path], s.all[o.kind] = o, append(s.all[o.kind], o)
	case "DELETED":
		delete(s.things, o.path)
		s.all[o.kind] = slices.DeleteFunc(s.all[o.kind], func(other *thing) bool { return other == o })
	}
	data := fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", what, o.json())
	s.log = append(s.log, event{s.version, o.kind, data})
	for w := range s.watches {
		if w.kind == o.kind {
			w.nudge()
		}
	}
}

func (w *watch) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// forgetEvents ends all watches and discards old events: clients must relist.
func (s *server) forgetEvents() {
	s.log, s.kept = nil, s.version
	for w := range s.watches {
		close(w.end)
		delete(s.watches, w)
	}
}

// chance is true with the given probability, in thousandths.
func (s *server) chance(perMille int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(1000) < perMille && !s.calm
}

func (s *server) wait(most time.Duration) {
	s.mu.Lock()
	d := time.Duration(s.random.Int64N(int64(most)))
	s.mu.Unlock()
	time.Sleep(d)
}

var (
	errCut  = errors.New("the process was killed")
	errLost = errors.New("the answer was lost")
)

// RoundTrip implements http.RoundTripper for one process. Requests after the process was killed do not arrive.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	s := p.server
	s.wait(40 * time.Millisecond)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if p.dead.Load() {
		return nil, errCut
	}
	response := s.answer(p, r)
	if r.Method == http.MethodGet {
		return response, nil
	}
	s.wait(40 * time.Millisecond)
	if p.dead.Load() || s.chance(5) {
		return nil, errLost
	}
	return response, nil
}

func (s *server) answer(p *process, r *http.Request) *http.Response {
	body, err := []byte(nil), error(nil)
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return answer.Status(400)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	switch {
	case strings.Contains(r.URL.Path, "apiservices"):
		return success([]byte(`{"spec":{}}`))
	case strings.Contains(r.URL.Path, "selfsubjectaccessreviews"):
		return success([]byte(`{"status":{"allowed":true}}`))
	case query.Get("sendInitialEvents") == "true":
		return answer.Status(422)
	case query.Get("watch") == "true":
		return s.watch(r)
	case strings.HasSuffix(r.URL.Path, "s"):
		return s.list(r.URL.Path)
	}
	o := s.things[r.URL.Path]
	switch {
	case r.Method != http.MethodGet && s.failsWrites:
		return answer.Status(503)
	case o == nil:
		return missing(r.URL.Path)
	case r.Method == http.MethodDelete:
		return s.remove(p, o, body)
	case r.Method == http.MethodPatch:
		return s.patch(o, body)
	}
	return success(o.json())
}

// kindAt returns the kind that a path serves.
func kindAt(path string) schema.GroupVersionKind {
	for _, kind := range []schema.GroupVersionKind{jobs, previews, snapshots} {
		if strings.HasSuffix(path, "/"+strings.ToLower(kind.Kind)+"s") {
			return kind
		}
	}
	panic("no kind is served at path " + path)
}

func success(body []byte) *http.Response { return answer.Text(200, string(body)) }

// missing is a NotFound answer for an object. A NotFound answer for a kind would not have a name in its details.
func missing(path string) *http.Response {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return answer.Text(404, fmt.Sprintf(`{"kind":"Status","status":"Failure","reason":"NotFound","details":{"name":%q},"code":404,"message":"not found"}`, name))
}

// list answers with the objects of a kind, all or those of a namespace.
func (s *server) list(path string) *http.Response {
	var items []string
	for _, o := range s.all[kindAt(path)] {
		if !strings.Contains(path, "/namespaces/") || strings.HasPrefix(o.path, path+"/") {
			items = append(items, string(o.json()))
		}
	}
	return answer.Text(200, fmt.Sprintf(`{"kind":"List","metadata":{"resourceVersion":"%d"},"items":[%s]}`, s.version, strings.Join(items, ",")))
}

// watch starts a watch. Events arrive in order, some time after the change.
func (s *server) watch(r *http.Request) *http.Response {
	last, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil || last < s.kept {
		return answer.Status(410)
	}
	reader, writer := io.Pipe()
	w := &watch{kind: kindAt(r.URL.Path), last: last, wake: make(chan struct{}, 1), end: make(chan struct{})}
	s.watches[w] = struct{}{}
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		seconds = 300
	}
	go func() {
		s.send(r.Context(), w, writer, time.Duration(seconds)*time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, w)
	}()
	context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: reader}
}

func (s *server) send(ctx context.Context, w *watch, to *io.PipeWriter, lasts time.Duration) {
	defer func() { _ = to.Close() }()
	over := time.NewTimer(lasts)
	defer over.Stop()
	for {
		for _, e := range s.after(w) {
			if _, err := to.Write(e.data); err != nil {
				return
			}
		}
		select {
		case <-w.wake:
			s.wait(300 * time.Millisecond)
		case <-ctx.Done():
			return
		case <-w.end:
			return
		case <-over.C:
			return
		}
	}
}

// after takes the events that a watch has not sent.
func (s *server) after(w *watch) (events []event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, _ := slices.BinarySearchFunc(s.log, w.last+1, func(e event, version int) int { return e.version - version })
	for _, e := range s.log[first:] {
		if w.last = e.version; e.kind == w.kind {
			events = append(events, e)
		}
	}
	return events
}

// remove applies a DELETE of a process.
func (s *server) remove(p *process, o *thing, body []byte) *http.Response {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(body, &options); err != nil {
		return answer.Status(400)
	}
	c := options.Preconditions
	switch {
	case c == nil || c.UID == nil || c.ResourceVersion == nil || options.PropagationPolicy == nil:
		s.fault("DELETE of %s without preconditions: %s", o, body)
	case *c.UID != o.uid || *c.ResourceVersion != strconv.Itoa(o.version):
		return answer.Status(409)
	}
	s.model.removed(p, o)
	s.put(o, "DELETED")
	return success([]byte(`{"kind":"Status","status":"Success"}`))
}

// patch applies a PATCH of marks of a process.
func (s *server) patch(o *thing, body []byte) *http.Response {
	var patch struct {
		Metadata struct {
			UID             string             `json:"uid"`
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		return answer.Status(400)
	}
	if patch.Metadata.UID != string(o.uid) || patch.Metadata.ResourceVersion != strconv.Itoa(o.version) {
		return answer.Status(409)
	}
	value, written := patch.Metadata.Annotations[v1alpha1.EligibleSinceAnnotation]
	if !written || len(patch.Metadata.Annotations) != 1 {
		s.fault("PATCH changes more than marks: %s", body)
	}
	marks := ""
	if value != nil {
		marks = *value
	}
	s.model.marked(o, marks)
	o.marks = marks
	s.put(o, "MODIFIED")
	return success(o.json())
}
