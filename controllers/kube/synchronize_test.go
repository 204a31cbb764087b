// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// synchronizing starts Synchronize. The result says whether it has returned, and the error.
func synchronizing(ctx context.Context, source fullSource) (result func() (bool, error)) {
	returned := make(chan error, 1)
	go func() { returned <- source.(retention.Synchronizer).Synchronize(ctx) }()
	return func() (bool, error) {
		bubble.Pass(time.Second)
		select {
		case err := <-returned:
			return true, err
		default:
			return false, nil
		}
	}
}

// bookmark is a bookmark at a resourceVersion.
func bookmark(version string) string {
	return `{"kind":"Job","apiVersion":"batch/v1","metadata":{"resourceVersion":"` + version + `"}}`
}

func TestSynchronizeWaitsForTheWatch(t *testing.T) {
	for way, streams := range ways {
		t.Run(way, func(t *testing.T) {
			s := &server{streams: streams, objects: []string{jobAt("a", "1")}}
			following(t, s, nil, func(t *testing.T, _ *sink, source fullSource) {
				s.set(func() { s.version = "1005" })
				result := synchronizing(t.Context(), source)
				for _, event := range []string{"", jobAt("a", "999"), jobAt("a", "1004")} {
					if event != "" {
						s.event("MODIFIED", event)
					}
					returned, _ := result()
					expect.Equal(t, "returned before the watch was there", false, returned)
				}
				s.event("BOOKMARK", bookmark("1005"))
				returned, err := result()
				expect.Equal(t, "returned", true, returned)
				expect.NoError(t, err)
				returned, err = synchronizing(t.Context(), source)()
				expect.Equal(t, "returned at once", true, returned)
				expect.NoError(t, err)
			})
		})
	}
}

func TestSynchronizeFails(t *testing.T) {
	for name, change := range map[string]func(*server){
		"no list":                    func(s *server) { s.failList = []int{500} },
		"an invalid resourceVersion": func(s *server) { s.version = "abc" },
		"no kind":                    func(s *server) { s.absent = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{objects: []string{jobAt("a", "1")}}
			following(t, s, nil, func(t *testing.T, _ *sink, source fullSource) {
				s.set(func() { change(s) })
				returned, err := synchronizing(t.Context(), source)()
				if !returned || err == nil {
					t.Errorf("returned %v, error %v", returned, err)
				}
			})
		})
	}
}

func TestSynchronizeEndsWithItsContext(t *testing.T) {
	s := &server{}
	following(t, s, nil, func(t *testing.T, _ *sink, source fullSource) {
		s.set(func() { s.version = "105" })
		ctx, cancel := context.WithCancel(t.Context())
		result := synchronizing(ctx, source)
		cancel()
		returned, err := result()
		expect.Equal(t, "returned", true, returned)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}
