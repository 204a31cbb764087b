// SPDX-License-Identifier: Apache-2.0

package listwatch_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/expect"
)

// oneJob is a server of one Job: listed or streamed, then changed and deleted.
type oneJob struct{ streams bool }

func (s oneJob) RoundTrip(r *http.Request) (*http.Response, error) {
	const mark = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":"9"},"items":[%s]}`, job)
	switch query := r.URL.Query(); {
	case query.Get("sendInitialEvents") == "true" && !s.streams:
		return answer.Status(422), nil
	case query.Get("sendInitialEvents") == "true":
		body = event("ADDED", job) + event("BOOKMARK", mark)
		fallthrough
	case query.Get("watch") == "true":
		if !s.streams {
			body = ""
		}
		body += event("MODIFIED", job) + event("BOOKMARK", mark) + event("DELETED", job)
	}
	return answer.Text(200, body), nil
}

// jobs returns the Jobs of a server.
func jobs(t *testing.T, s http.RoundTripper) *listwatch.Collection {
	return &listwatch.Collection{Client: client(t, s), Path: []string{"/apis/batch/v1", "jobs"}, Decoder: decoder{}, Clock: clock.RealClock{}}
}

func follow(ctx context.Context, c *listwatch.Collection, store cache.ReflectorStore, failed func(error)) {
	(&listwatch.Follower{Name: "jobs", Clock: clock.RealClock{}, ListerWatcher: c, Store: store, Failed: failed}).Run(ctx)
}

func TestFollowerPassesObjectsToItsStore(t *testing.T) {
	for _, streams := range []bool{true, false} {
		t.Run(fmt.Sprint("streamed ", streams), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var calls []string
			note := func(call string) func(any) error {
				return func(any) error {
					calls = append(calls, call)
					return nil
				}
			}
			store := &cache.FakeCustomStore{
				ReplaceFunc: func(list []any, _ string) error { return note(fmt.Sprint("replace ", len(list)))(nil) },
				AddFunc:     note("add"), UpdateFunc: note("update"),
				DeleteFunc: func(any) error { cancel(); return note("delete")(nil) },
			}
			follow(ctx, jobs(t, oneJob{streams}), store, func(error) {})
			expect.Equal(t, "calls", []string{"replace 1", "update", "delete"}, calls)
		})
	}
}

// TestListingInPagesIsNotStreamed though the server can stream it.
func TestListingInPagesIsNotStreamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &server{}
	store := &cache.FakeCustomStore{UpdateFunc: func(any) error { return nil }, AddFunc: func(any) error { cancel(); return nil }}
	(&listwatch.Follower{Name: "jobs", Clock: clock.RealClock{}, ListerWatcher: jobs(t, s), Store: store, Failed: func(error) {}, Pages: true}).Run(ctx)
	var queries []string
	for _, r := range s.requests {
		query := r.URL.Query()
		queries = append(queries, fmt.Sprint(query.Get("limit"), query.Get("sendInitialEvents")))
	}
	expect.Equal(t, "pages and a watch", []string{"500", "500", ""}, queries)
}

// unresumable is a server whose watches cannot continue a list, because it took too long.
type unresumable struct{}

func (unresumable) RoundTrip(r *http.Request) (*http.Response, error) {
	if query := r.URL.Query(); query.Get("watch") == "true" && query.Get("sendInitialEvents") == "" {
		return answer.Status(410), nil
	}
	return oneJob{streams: true}.RoundTrip(r)
}

func TestListingIsStreamedIfNoWatchCanFollowIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var calls []string
	store := &cache.FakeCustomStore{
		ReplaceFunc: func([]any, string) error { calls = append(calls, "replace"); return nil },
		UpdateFunc:  func(any) error { return nil },
		DeleteFunc:  func(any) error { calls = append(calls, "delete"); cancel(); return nil },
	}
	(&listwatch.Follower{Name: "jobs", Clock: clock.RealClock{}, ListerWatcher: jobs(t, unresumable{}), Store: store, Failed: func(error) {}, Pages: true}).Run(ctx)
	expect.Equal(t, "calls", []string{"replace", "replace", "delete"}, calls)
}

// failing is a server that answers every request with a status code.
type failing int

func (code failing) RoundTrip(*http.Request) (*http.Response, error) {
	return answer.Status(int(code)), nil
}

func TestFollowerReturnsWhenTheResourceIsNotServed(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		failures := 0
		follow(t.Context(), jobs(t, failing(code)), &cache.FakeCustomStore{}, func(error) { failures++ })
		expect.Equal(t, fmt.Sprint("failures after ", code), 1, failures)
	}
}

func TestFollowerRetriesOtherErrors(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failures := 0
	follow(ctx, jobs(t, failing(http.StatusForbidden)), &cache.FakeCustomStore{}, func(error) {
		if failures++; failures == 2 {
			cancel()
		}
	})
	expect.Equal(t, "failures", 2, failures)
}

func TestFollowerReportsNoAttemptThatTheCallerEnded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	attempts, failures := 0, 0
	follower := listwatch.Follower{
		Name: "jobs", Clock: clock.RealClock{}, ListerWatcher: jobs(t, failing(http.StatusForbidden)), Store: &cache.FakeCustomStore{},
		Begin: func(end func()) {
			if attempts++; attempts == 1 {
				end()
			}
		},
		Failed: func(error) { failures++; cancel() },
	}
	follower.Run(ctx)
	expect.Equal(t, "attempts", 2, attempts)
	expect.Equal(t, "failures", 1, failures)
}
