// SPDX-License-Identifier: Apache-2.0

package listwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/expect"
)

// server serves two pages, or a watch that ends, and records its requests.
type server struct{ requests []*http.Request }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":"9","continue":"more"},"items":[%s]}`, job)
	switch query := r.URL.Query(); {
	case query.Get("watch") == "true":
		body = event("ADDED", job)
	case query.Get("continue") == "more":
		body = fmt.Sprintf(`{"metadata":{"resourceVersion":"9"},"items":[%s]}`, other)
	}
	return answer.Text(200, body), nil
}

// TestCollectionRequestsAreConsistent: pages and watches have the same objects and media type.
func TestCollectionRequestsAreConsistent(t *testing.T) {
	for name, test := range map[string]struct {
		collection listwatch.Collection
		selector   string
		metadata   bool
	}{
		"whole objects":            {listwatch.Collection{}, "", false},
		"metadata":                 {listwatch.Collection{MetadataOnly: true}, "", true},
		"metadata with a selector": {listwatch.Collection{MetadataOnly: true, FieldSelector: "type!=a"}, "type!=a", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := &server{}, test.collection
			c.Path, c.Decoder, c.Clock = []string{"/apis/batch/v1", "jobs"}, decoder{}, clock.RealClock{}
			c.Client = client(t, s)
			all, err := c.All(t.Context())
			expect.NoError(t, err)
			expect.Equal(t, "objects", 2, len(all.Items))
			watch, err := c.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "9"})
			expect.NoError(t, err)
			events := 0
			for range watch.ResultChan() {
				events++
			}
			expect.Equal(t, "events", 1, events)
			expect.Equal(t, "requests", 3, len(s.requests))
			for _, r := range s.requests {
				expect.Equal(t, "path", "/apis/batch/v1/jobs", r.URL.Path)
				expect.Equal(t, "selector", test.selector, r.URL.Query().Get("fieldSelector"))
				expect.Equal(t, "requests only metadata", test.metadata, strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata"))
			}
		})
	}
}

// TestListingIsOfTheNewestState: an older listing could bring back deleted objects.
func TestListingIsOfTheNewestState(t *testing.T) {
	for name, test := range map[string]struct {
		options metav1.ListOptions
		want    string
	}{
		"a streamed listing": {metav1.ListOptions{ResourceVersion: "9", SendInitialEvents: ptr.To(true)}, ""},
		"a watch":            {metav1.ListOptions{ResourceVersion: "9"}, "9"},
	} {
		s := &server{}
		watch, err := (&listwatch.Collection{Client: client(t, s), Path: []string{"/apis/batch/v1", "jobs"}, Decoder: decoder{}}).
			WatchWithContext(t.Context(), test.options)
		expect.NoError(t, err)
		watch.Stop()
		expect.Equal(t, "resourceVersion of "+name, test.want, s.requests[0].URL.Query().Get("resourceVersion"))
	}
}

// putOff is a server that never begins to stream a listing. The error for pages says why.
type putOff struct{}

func (putOff) RoundTrip(r *http.Request) (*http.Response, error) {
	code, reason, why := http.StatusInternalServerError, metav1.StatusReasonInternalError, "the conversion webhook failed"
	if r.URL.Query().Get("watch") == "true" {
		code, reason, why = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "storage is initializing"
	}
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, why)
	return answer.Text(code, body), nil
}

// TestListingThatIsAlwaysPutOffIsTold: the reflector must return the error for pages, and not retry the stream endlessly.
func TestListingThatIsAlwaysPutOffIsTold(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &listwatch.Collection{Client: client(t, putOff{}), Path: []string{"/apis/example.com/v2", "widgets"}, Decoder: decoder{}, Clock: clock.RealClock{}}
	var err error
	follow(ctx, c, &cache.FakeCustomStore{}, func(failed error) { err = failed; cancel() })
	if err == nil || !strings.Contains(err.Error(), "the conversion webhook failed") {
		t.Errorf("error %v", err)
	}
}

// forgetful is a server whose pages expire before the second one is requested.
type forgetful struct{ server }

func (s *forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	page, err := s.server.RoundTrip(r)
	switch query := r.URL.Query(); {
	case query.Get("continue") != "":
		return answer.Status(410), nil
	case query.Get("limit") == "":
		return answer.Text(200, fmt.Sprintf(`{"metadata":{"resourceVersion":"11"},"items":[%s,%s]}`, job, other)), nil
	}
	return page, err
}

// TestExpiredContinueTokenRelistsWithoutPages: otherwise a kind whose pages take longer than history is kept would never be
// listed.
func TestExpiredContinueTokenRelistsWithoutPages(t *testing.T) {
	s := &forgetful{}
	all, err := (&listwatch.Collection{Client: client(t, s), Path: []string{"/apis/batch/v1", "jobs"}, Decoder: decoder{}, Clock: clock.RealClock{}}).All(t.Context())
	expect.NoError(t, err)
	expect.Equal(t, "objects", 2, len(all.Items))
	expect.Equal(t, "version", "11", all.ResourceVersion)
	expect.Equal(t, "requests", 3, len(s.requests))
}

// TestNextPageIsRequestedWhileOneIsRead: the API server prepares a page while the one before is decoded.
func TestNextPageIsRequestedWhileOneIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, err := (&listwatch.Collection{Client: client(t, waiting(make(chan struct{}))), Path: []string{"/apis/batch/v1", "jobs"}, Decoder: decoder{}, Clock: clock.RealClock{}}).
			All(t.Context())
		expect.NoError(t, err)
		expect.Equal(t, "objects", 2, len(all.Items))
	})
}

// waiting is a server that ends its first page only after a request for the second one.
type waiting chan struct{}

func (w waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("continue") != "" {
		close(w)
		return answer.Text(200, fmt.Sprintf(`{"metadata":{"resourceVersion":"9"},"items":[%s]}`, other)), nil
	}
	page, body := answer.Stream(r)
	go func() {
		_, _ = fmt.Fprint(body, `{"metadata":{"resourceVersion":"9","continue":"more"},"items":[`, job)
		<-w
		_, _ = fmt.Fprint(body, "]}")
		_ = body.Close()
	}()
	return page, nil
}

// TestPagesAreAsLargeAsObjectsAreFast: the API server ends a response that takes a minute.
func TestPagesAreAsLargeAsObjectsAreFast(t *testing.T) {
	for perObject, want := range map[time.Duration][]string{
		0:                     {"500", "500", "10000", "10000"},
		time.Millisecond:      {"500", "500", "2000", "2000"},
		50 * time.Millisecond: {"500", "500", "500", "500"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &plenty{pages: len(want)}
			_, err := (&listwatch.Collection{Client: client(t, s), Path: []string{"/apis/batch/v1", "jobs"}, Decoder: slow(perObject), Clock: clock.RealClock{}}).All(t.Context())
			expect.NoError(t, err)
			expect.Equal(t, fmt.Sprint("limits with ", perObject, " for an object"), want, s.limits)
		})
	}
}

// slow is a decoder that takes a time for each object.
type slow time.Duration

func (s slow) Object(data []byte) (listwatch.Object, error) {
	time.Sleep(time.Duration(s))
	return decoder{}.Object(data)
}

func (s slow) Deleted(data []byte) (listwatch.Object, error) { return decoder{}.Deleted(data) }

// plenty is a server that fills a number of pages.
type plenty struct {
	pages  int
	limits []string // as they were asked for
}

func (s *plenty) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := r.URL.Query().Get("limit")
	s.limits = append(s.limits, limit)
	n, err := strconv.Atoi(limit)
	if err != nil {
		return nil, err
	}
	token := ""
	if len(s.limits) < s.pages {
		token = "more"
	}
	return answer.Text(200, fmt.Sprintf(`{"metadata":{"resourceVersion":"9","continue":%q},"items":[%s%s]}`, token, job, strings.Repeat(","+job, n-1))), nil
}

// hanging is a server that never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestRequestIsNotRetriedAfterTheDeadline: a shutdown must not wait for retries.
func TestRequestIsNotRetriedAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deadline := time.Now().Add(time.Minute)
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		defer cancel()
		_, err := (&listwatch.Collection{Client: client(t, hanging{}), Path: []string{"/apis/batch/v1", "jobs"}, Decoder: decoder{}, Clock: clock.RealClock{}}).All(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Now().After(deadline) {
			t.Errorf("error %v at %s, deadline %s", err, time.Now(), deadline)
		}
	})
}

func client(t *testing.T, s http.RoundTripper) rest.Interface {
	t.Helper()
	config := &rest.Config{Host: "http://server"}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientForConfigAndClient(config, &http.Client{Transport: s})
	expect.NoError(t, err)
	return c
}
