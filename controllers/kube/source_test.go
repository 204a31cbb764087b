// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"cmp"
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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/controllers/retention/index"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// server is an API server without a socket that serves one kind.
type server struct {
	meta.RESTMapper

	mu         sync.Mutex
	absent     bool           // the kind is not served
	removed    bool           // requests for objects return 404: the CRD has been removed
	aggregated bool           // an aggregated API server serves the kind
	forbidden  bool           // no permission to delete
	streams    bool           // listings of all namespaces must be streamed: their pages expire, and a response without pages takes too long
	objects    []string       // JSON
	version    string         // resourceVersion of lists; empty means "100"
	failWatch  int            // status of requests for a watch; 0 for success
	failList   []int          // status of the next lists; 0 for success
	failPage   int            // status of the next page that is not the first
	resets     int            // how many of the next requests for objects fail with a broken connection
	watch      *io.PipeWriter // the latest watch; nil before the first
	requests   []*http.Request
}

// RESTMapping implements meta.RESTMapper. The other methods are never called.
func (s *server) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.absent {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return mapper().RESTMapping(kind, versions...)
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, r)
	query := r.URL.Query()
	if s.resets > 0 && strings.HasSuffix(r.URL.Path, "/jobs") {
		s.resets--
		return nil, syscall.ECONNRESET
	}
	switch {
	case s.removed && strings.HasSuffix(r.URL.Path, "/jobs"):
		return answer.Status(404), nil
	case r.URL.Path == "/apis":
		return answer.Text(200, `{"kind":"APIGroupList","groups":[{"name":"batch","versions":[{"groupVersion":"batch/v2","version":"v2"}]}]}`), nil
	case r.URL.Path == "/apis/batch/v2":
		return answer.Text(200, `{"kind":"APIResourceList","groupVersion":"batch/v2","resources":[{"name":"jobs","kind":"Job","verbs":["list"]}]}`), nil
	case strings.Contains(r.URL.Path, "apiservices"):
		return answer.Text(200, map[bool]string{false: `{"spec":{}}`, true: `{"spec":{"service":{"name":"x"}}}`}[s.aggregated]), nil
	case strings.Contains(r.URL.Path, "selfsubjectaccessreviews"):
		return answer.Text(201, fmt.Sprintf(`{"status":{"allowed":%v}}`, !s.forbidden)), nil
	case query.Get("watch") == "true" && query.Get("sendInitialEvents") == "true" && !s.streams:
		return answer.Status(422), nil
	case query.Get("watch") == "true" && s.failWatch != 0:
		return answer.Status(s.failWatch), nil
	case query.Get("watch") == "true":
		return s.stream(r, query.Get("sendInitialEvents") == "true"), nil
	}
	for _, o := range s.objects {
		if name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; strings.Contains(o, fmt.Sprintf(`"name":%q`, name)) {
			return answer.Text(200, o), nil
		}
	}
	if all := !strings.Contains(r.URL.Path, "/namespaces/"); s.streams && all && query.Get("limit") != "1" {
		switch {
		case query.Get("continue") != "":
			return answer.Status(410), nil
		case query.Get("limit") == "":
			return answer.Status(504), nil
		}
		return answer.Text(200, `{"metadata":{"continue":"more"},"items":[]}`), nil
	}
	return s.list(query.Get("limit"), query.Get("continue")), nil
}

func (s *server) stream(r *http.Request, initial bool) *http.Response {
	stream, writer := answer.Stream(r)
	s.watch = writer
	if initial {
		events := append([]string{}, s.objects...)
		go func() {
			for _, o := range events {
				answer.Event(writer, "ADDED", o)
			}
			answer.Event(writer, "BOOKMARK", `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"100","annotations":{"k8s.io/initial-events-end":"true"}}}`)
		}()
	}
	return stream
}

func (s *server) list(limit, next string) *http.Response {
	first, size := 0, len(s.objects)
	if _, err := fmt.Sscan(next, &first); err == nil && s.failPage != 0 {
		code := s.failPage
		s.failPage = 0
		return answer.Status(code)
	}
	if len(s.failList) > 0 {
		code := s.failList[0]
		s.failList = s.failList[1:]
		if code != 0 {
			return answer.Status(code)
		}
	}
	if _, err := fmt.Sscan(limit, &size); err != nil {
		size = len(s.objects)
	}
	last := min(first+size, len(s.objects))
	more := ""
	if last < len(s.objects) {
		more = fmt.Sprint(last)
	}
	return answer.Text(200, fmt.Sprintf(`{"kind":"JobList","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`,
		cmp.Or(s.version, "100"), more, strings.Join(s.objects[first:last], ",")))
}

// set changes the fields below mu.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// event sends one event on the latest watch.
func (s *server) event(event, object string) {
	s.mu.Lock()
	w := s.watch
	s.mu.Unlock()
	answer.Event(w, event, object)
	synctest.Wait()
}

// asked returns the requests whose path contains part, and forgets all requests.
func (s *server) asked(part string) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*http.Request
	for _, r := range s.requests {
		if strings.Contains(r.URL.Path, part) {
			found = append(found, r)
		}
	}
	s.requests = nil
	return found
}

// sink records its calls.
type sink struct {
	mu    sync.Mutex
	calls []string
	lost  string                    // the last message
	rows  map[string]*index.FactRow // the last row by name
}

func (s *sink) see(row *index.FactRow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = map[string]*index.FactRow{}
	}
	s.rows[row.Subject().Name] = row
}

// facts returns the number of facts about a subject.
func (s *sink) facts(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows[name].Facts())
}

func (s *sink) tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *sink) Replace(rows []*index.FactRow) {
	if len(rows) > 3 {
		s.tell("replace %d", len(rows))
		return
	}
	var names []string
	for _, r := range rows {
		s.see(r)
		names = append(names, r.Subject().Name)
	}
	s.tell("replace %v", names)
}
func (s *sink) Apply(row *index.FactRow) {
	s.see(row)
	s.tell("apply %s@%s", row.Subject().Name, row.Subject().ResourceVersion)
}
func (s *sink) Forget(uid types.UID) { s.tell("forget %s", uid) }
func (s *sink) Lost(why *retention.SourceError) {
	if why == nil {
		s.tell("lost")
		return
	}
	s.mu.Lock()
	s.lost = why.Message
	s.mu.Unlock()
	s.tell("lost %s", why.Reason)
}

func (s *sink) Unmarkable(why *retention.SourceError) {
	if why != nil {
		s.tell("unmarkable %s", why.Reason)
	}
}

func (s *sink) Undeletable(why *retention.SourceError) {
	if why != nil {
		s.tell("undeletable %s", why.Reason)
	}
}

// take returns the calls since the last take.
func (s *sink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// jobAt returns the JSON of a Job.
func jobAt(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":"team-a","uid":"uid-%s","resourceVersion":%q,"creationTimestamp":"2026-03-01T12:00:00Z"}}`, name, name, version)
}

// fullSource is the interfaces that a Source of API objects implements.
type fullSource interface {
	retention.Source
	retention.Relister
	retention.Confirmer
}

// following runs a test with a source that runs on a server.
func following(t *testing.T, s *server, options []func(*testing.T, *engine.Compiler) *engine.Program, test func(t *testing.T, k *sink, source fullSource)) {
	t.Helper()
	followingKind(t, fixture.Jobs, s, options, test)
}

func followingKind(t *testing.T, kind schema.GroupVersionKind, s *server, options []func(*testing.T, *engine.Compiler) *engine.Program, test func(t *testing.T, k *sink, source fullSource)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		compiler := fixture.Compiler(t)
		cluster, err := kube.New(kube.Options{
			Config: &rest.Config{Host: "http://server", QPS: -1}, HTTP: &http.Client{Transport: s}, Mapper: s, Clock: clock.RealClock{}, Compiler: compiler,
		})
		expect.NoError(t, err)
		var rules []*engine.Program
		for _, o := range options {
			rules = append(rules, o(t, compiler))
		}
		if rules == nil {
			rules = append(rules, compile(t, compiler, kind, eligible("has(object.status)")))
		}
		source := cluster.Open(retention.NewRuleSet(kind, rules, nil)).(fullSource)
		k := &sink{}
		stop := running(t, source, k)
		if s.streams {
			bubble.Pass(time.Second)
			k.mu.Lock()
			k.calls = slices.DeleteFunc(k.calls, func(call string) bool { return call == "lost ListFailed" })
			k.mu.Unlock()
		}
		test(t, k, source)
		stop()
	})
}

// running runs a source until stop is called.
func running(t *testing.T, source fullSource, k retention.Sink) (stop func()) {
	return bubble.Start(t, func(ctx context.Context) error {
		source.Run(ctx, k)
		return nil
	})
}

// listed returns the rows that a source lists of a namespace.
func listed(ctx context.Context, s fullSource, namespace string) (rows []*index.FactRow, err error) {
	err = s.List(ctx, namespace, nil, func(all []*index.FactRow) bool { rows = all; return true })
	return rows, err
}

// readBy returns the row that a source reads of a subject.
func readBy(ctx context.Context, s fullSource, subject policy.Subject) (row *index.FactRow, err error) {
	err = s.Read(ctx, subject, func(r *index.FactRow) { row = r })
	return row, err
}

// ways is the ways to get a listing, and whether the server streams it.
var ways = map[string]bool{"streamed": true, "page by page": false}

func TestSourceListsAndWatches(t *testing.T) {
	for way, streams := range ways {
		t.Run(way, func(t *testing.T) {
			s := &server{streams: streams, objects: []string{jobAt("a", "1"), jobAt("b", "2")}}
			following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
				listed := k.take()
				if len(listed) != 1 || (listed[0] != "replace [a b]" && listed[0] != "replace [b a]") {
					t.Fatalf("calls %v", listed)
				}
				s.event("ADDED", jobAt("c", "101"))
				s.event("MODIFIED", jobAt("a", "102"))
				s.event("BOOKMARK", `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"103"}}`)
				s.event("DELETED", jobAt("b", "104"))
				expect.Equal(t, "calls", []string{"apply c@101", "apply a@102", "forget uid-b"}, k.take())
			})
		})
	}
}

// TestConnectionThatBreaksIsReplaced: a broken connection does not make the known objects unknown.
func TestConnectionThatBreaksIsReplaced(t *testing.T) {
	for way, streams := range ways {
		t.Run(way, func(t *testing.T) {
			s := &server{streams: streams, resets: 3, objects: []string{jobAt("a", "1")}}
			following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
				bubble.Pass(5 * time.Second)
				expect.Equal(t, "calls", []string{"replace [a]"}, k.take())
			})
		})
	}
}

func TestListOfManyPages(t *testing.T) {
	s := &server{}
	for i := range 2*listwatch.PageSize + 1 {
		s.objects = append(s.objects, jobAt(fmt.Sprint("j", i), "1"))
	}
	following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
		expect.Equal(t, "calls", []string{fmt.Sprintf("replace %d", 2*listwatch.PageSize+1)}, k.take())
		pages := 0
		for _, r := range s.asked("/jobs") {
			if query := r.URL.Query(); query.Get("watch") == "" {
				pages++
				expect.Equal(t, "limit", map[int]string{1: "500", 2: "500", 3: "10000"}[pages], query.Get("limit"))
				expect.Equal(t, "resourceVersion", "", query.Get("resourceVersion"))
			}
		}
		expect.Equal(t, "pages", 3, pages)
	})
}

// TestHalfAListIsNone: if a later page fails, the other pages must not count as the whole list.
func TestHalfAListIsNone(t *testing.T) {
	for name, code := range map[string]int{"expired": 410, "no answer": 500} {
		t.Run(name, func(t *testing.T) {
			s := &server{failPage: code}
			for i := range listwatch.PageSize + 1 {
				s.objects = append(s.objects, jobAt(fmt.Sprint("j", i), "1"))
			}
			following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
				bubble.Pass(time.Minute)
				for _, calls := range k.take() {
					if strings.HasPrefix(calls, "replace") && calls != fmt.Sprintf("replace %d", listwatch.PageSize+1) {
						t.Errorf("call %q", calls)
					}
				}
			})
		})
	}
}

func TestWatchThatEnds(t *testing.T) {
	tests := map[string]struct {
		end  func(s *server)
		want []string
	}{
		"a normal end: the next watch continues": {func(s *server) { _ = s.watch.Close() }, nil},
		"expired: a new list":                    {func(s *server) { s.event("ERROR", answer.StatusText(410)) }, []string{"lost", "replace [a]"}},
		"broken: a new list":                     {func(s *server) { s.event("ERROR", answer.StatusText(500)) }, []string{"lost", "replace [a]"}},
		"an invalid event: a new list":           {func(s *server) { s.event("MODIFIED", `{"metadata":{"uid":"x"}}`) }, []string{"lost", "replace [a]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &server{objects: []string{jobAt("a", "1")}}
			following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
				k.take()
				// A watch that ends at once counts as broken.
				time.Sleep(2 * time.Second)
				s.event("MODIFIED", jobAt("a", "101"))
				expect.Equal(t, "calls before the end", []string{"apply a@101"}, k.take())
				test.end(s)
				bubble.Pass(30 * time.Second)
				expect.Equal(t, "calls at the end", test.want, k.take())
				s.event("MODIFIED", jobAt("a", "102"))
				expect.Equal(t, "calls after the end", []string{"apply a@102"}, k.take())
			})
		})
	}
}

// TestConfirmFailsWithoutAWatch: the source confirms nothing while no watch can be opened, nor in the first seconds of the next one,
// which may still send earlier changes.
func TestConfirmFailsWithoutAWatch(t *testing.T) {
	s := &server{objects: []string{jobAt("a", "1")}}
	following(t, s, nil, func(t *testing.T, k *sink, source fullSource) {
		a := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a", ResourceVersion: "1"}
		time.Sleep(2 * time.Second) // a watch that ends at once counts as broken
		expect.Equal(t, "with a watch", nil, source.Confirm(a))
		s.set(func() { s.failWatch = 429 })
		_ = s.watch.Close()
		k.take()
		for range 10 {
			bubble.Pass(6 * time.Second)
			if source.Confirm(a) == nil {
				t.Fatal("confirmed without a watch")
			}
		}
		s.set(func() { s.failWatch = 0 })
		bubble.Pass(time.Minute)
		expect.Equal(t, "with a watch again", nil, source.Confirm(a))
		expect.Equal(t, "calls", nil, k.take())
	})
}

func TestSourceErrorsAreReportedAndRetried(t *testing.T) {
	tests := map[string]struct {
		server *server
		want   string
		mend   func(s *server)
	}{
		"the kind does not exist":     {&server{absent: true}, "lost KindNotFound", func(s *server) { s.absent = false }},
		"an aggregated API server":    {&server{aggregated: true}, "lost AggregatedAPI", func(s *server) { s.aggregated = false }},
		"no permission to list":       {&server{failList: []int{403, 403}}, "lost Forbidden", nil},
		"the kind is no longer found": {&server{failList: []int{404}}, "lost KindNotFound", nil},
		"the list fails":              {&server{failList: []int{500, 500}}, "lost ListFailed", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := test.server
			s.objects = []string{jobAt("a", "1")}
			following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
				calls := k.take()
				if len(calls) == 0 || calls[0] != test.want {
					t.Errorf("calls %v, want %q first", calls, test.want)
				}
				if test.mend != nil {
					s.set(func() { test.mend(s) })
				}
				bubble.Pass(30 * time.Second)
				calls = append(calls, k.take()...)
				expect.Equal(t, "last call", "replace [a]", calls[len(calls)-1])
			})
		})
	}
}

// TestRemovedKindIsLostWithinSeconds: a kind is lost within seconds after the API server ends the watch, which it does some
// time after the removal of the CRD. The kind is found again after the CRD is installed again.
func TestRemovedKindIsLostWithinSeconds(t *testing.T) {
	for way, streams := range ways {
		t.Run(way, func(t *testing.T) {
			s := &server{streams: streams, objects: []string{jobAt("a", "1")}}
			following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
				time.Sleep(time.Minute)
				s.event("DELETED", jobAt("a", "101"))
				expect.Equal(t, "calls", []string{"replace [a]", "forget uid-a"}, k.take())
				s.mu.Lock()
				s.removed, s.absent = true, true
				_ = s.watch.Close()
				s.mu.Unlock()
				bubble.Pass(3 * time.Second)
				if calls := k.take(); !slices.Contains(calls, "lost KindNotFound") {
					t.Errorf("calls %v, want lost KindNotFound", calls)
				}
				s.set(func() { s.removed, s.absent, s.objects = false, false, nil })
				bubble.Pass(30 * time.Second)
				calls := k.take()
				expect.Equal(t, "last call", "replace []", calls[len(calls)-1])
			})
		})
	}
}

// TestRemovedKindIsNotHammered: the mapping of a kind stays cached although the API server no longer serves it.
func TestRemovedKindIsNotHammered(t *testing.T) {
	s := &server{removed: true}
	following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
		bubble.Pass(10 * time.Minute)
		if n := len(s.asked("/jobs")); n < 20 || n > 150 {
			t.Errorf("%d requests in ten minutes", n)
		}
	})
}

// TestMissingKind: the condition has the message of the admission webhook, and the kinds of the cluster are discovered once.
func TestMissingKind(t *testing.T) {
	s := &server{absent: true}
	following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
		bubble.Pass(10 * time.Minute)
		expect.Equal(t, "message", "no matches for kind \"Job\" in version \"batch/v1\" (did you mean apiVersion: batch/v2?)", k.lost)
		expect.Equal(t, "discovered", 1, len(s.asked("/apis/batch/v2")))
	})
}

func TestKindThatCannotBeListedIsNotHammered(t *testing.T) {
	s := &server{failList: make([]int, 10_000)}
	for i := range s.failList {
		s.failList[i] = 500
	}
	following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
		bubble.Pass(10 * time.Minute)
		if n := len(s.asked("/jobs")); n < 20 || n > 300 {
			t.Errorf("%d requests in ten minutes", n)
		}
	})
}

// granted grants all permissions, and checks that some minutes later the source makes no more calls.
func granted(t *testing.T, s *server, k *sink) {
	t.Helper()
	s.set(func() { s.forbidden = false })
	bubble.Pass(5 * time.Minute)
	k.take()
	bubble.Pass(10 * time.Minute)
	expect.Equal(t, "calls after the grant", nil, k.take())
}

func TestPermissionToDelete(t *testing.T) {
	s := &server{forbidden: true}
	following(t, s, nil, func(t *testing.T, k *sink, _ fullSource) {
		expect.Equal(t, "undeletable", true, strings.Contains(strings.Join(k.take(), "\n"), "undeletable Forbidden"))
		reviews := s.asked("selfsubjectaccessreviews")
		expect.Equal(t, "reviews", 1, len(reviews))
		granted(t, s, k)
	})
}

// TestPermissionToMark: if a rule marks objects, the source checks the permission to patch and reports it as unmarkable.
func TestPermissionToMark(t *testing.T) {
	marking := func(t *testing.T, c *engine.Compiler) *engine.Program {
		document := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p", UID: "u"}, Spec: policy.Spec{Rules: []v1alpha1.Rule{{
			Name: "r", Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"}, Eligible: "true", TTL: "1h",
		}}}}
		for _, program := range c.Load(document.Load(policy.Protection{})) {
			return program
		}
		t.Fatal("not compiled")
		return nil
	}
	s := &server{forbidden: true}
	following(t, s, []func(*testing.T, *engine.Compiler) *engine.Program{marking}, func(t *testing.T, k *sink, _ fullSource) {
		calls := strings.Join(k.take(), "\n")
		expect.Equal(t, "unmarkable and undeletable", true, strings.Contains(calls, "unmarkable Forbidden") && strings.Contains(calls, "undeletable Forbidden"))
		expect.Equal(t, "reviews", 2, len(s.asked("selfsubjectaccessreviews")))
		granted(t, s, k)
	})
}

func TestSourceRequestsOnlyMetadataIfEnough(t *testing.T) {
	tests := map[string]struct {
		expressions []string
		want        bool
	}{
		"metadata":          {[]string{"has(object.metadata.labels)"}, true},
		"status":            {[]string{"has(object.status)"}, false},
		"metadata and more": {[]string{"has(object.metadata.labels)", "has(object.spec)"}, false},
	}
	for name, test := range tests {
		for way, streams := range ways {
			t.Run(name+" "+way, func(t *testing.T) {
				s := &server{objects: []string{jobAt("a", "1")}, streams: streams}
				var rules []func(*testing.T, *engine.Compiler) *engine.Program
				for _, e := range test.expressions {
					rules = append(rules, func(t *testing.T, c *engine.Compiler) *engine.Program {
						return compile(t, c, fixture.Jobs, eligible(e))
					})
				}
				following(t, s, rules, func(t *testing.T, k *sink, source fullSource) {
					if _, err := readBy(t.Context(), source, policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a"}); err != nil {
						t.Log(err)
					}
					for _, r := range s.asked("/jobs") {
						only := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
						expect.Equal(t, r.URL.String()+" requests only metadata", test.want, only)
					}
				})
			})
		}
	}
}

func TestRead(t *testing.T) {
	subject := policy.Subject{Namespace: "team-a", Name: "a", UID: "uid-a", ResourceVersion: "1"}
	tests := map[string]struct {
		code    int
		body    string
		version string // of the row; empty for none
		fails   bool
	}{
		"the current version": {200, jobAt("a", "9"), "9", false},
		"not found":           {404, answer.StatusText(404), "", true}, // only the watch reports deletions
		"another UID":         {200, strings.Replace(jobAt("a", "9"), "uid-a", "uid-z", 1), "", false},
		"forbidden":           {403, answer.StatusText(403), "", true},
		"not JSON":            {200, "<html>", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			client := &http.Client{Transport: answer.Func(func(r *http.Request) (*http.Response, error) {
				got = r
				return answer.Text(test.code, test.body), nil
			})}
			c := clusterAt(t, &rest.Config{Host: "http://server"}, client)
			row, err := readBy(t.Context(), c.Open(retention.NewRuleSet(fixture.Jobs, []*engine.Program{compile(t, fixture.Compiler(t), fixture.Jobs)}, nil)).(fullSource), subject)
			expect.Equal(t, "fails", test.fails, err != nil)
			expect.Equal(t, "path", "GET /apis/batch/v1/namespaces/team-a/jobs/a", got.Method+" "+got.URL.RequestURI())
			version := ""
			if row != nil {
				version = row.Subject().ResourceVersion
			}
			expect.Equal(t, "version", test.version, version)
		})
	}
}
