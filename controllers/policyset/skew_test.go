// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestSlowResponseIsNoSkew: a listing that priority and fairness delays, for example.
func TestSlowResponseIsNoSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newHarness(t, newServer())
		stop := bubble.Start(t, func(ctx context.Context) error { return policyset.FollowClock(l.Reconciler, ctx) })
		synctest.Wait()
		answers := l.ObserveDates(answer.Func(func(r *http.Request) (*http.Response, error) {
			date := l.Clock.Now().UTC().Format(http.TimeFormat)
			l.later(10 * time.Second)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {date}}, Body: http.NoBody, Request: r}, nil
		}))
		_, err := answers.RoundTrip(httptest.NewRequest(http.MethodGet, "http://live/api/v1/resourcequotas", nil))
		expect.NoError(t, err)
		synctest.Wait()
		expect.NoError(t, l.DeletionError())
		stop()
	})
}

// TestClocksAreComparedThoughNothingIsDue: with a clock that is behind, nothing appears to be due, so that no check would
// compare the clocks.
func TestClocksAreComparedThoughNothingIsDue(t *testing.T) {
	synctest.Test(t, comparesClocks)
}

func comparesClocks(t *testing.T) {
	s := newServer()
	l := newHarness(t, s)
	stop := bubble.Start(t, func(ctx context.Context) error { return policyset.FollowClock(l.Reconciler, ctx) })
	turn := func(what string, troubled bool) {
		t.Helper()
		synctest.Wait()
		expect.Equal(t, what+": in trouble", troubled, l.DeletionError() != nil)
	}
	set := func(change func()) {
		s.mu.Lock()
		change()
		s.mu.Unlock()
		l.later(3 * time.Second)
	}
	turn("the clocks agree", false)
	set(func() { s.skewed = time.Hour })
	turn("ours is behind", true)
	set(func() { s.fail = func(string) error { return errors.New("no answer") } })
	turn("no later response", true)
	set(func() { s.fail, s.skewed = nil, -time.Hour })
	turn("ours is ahead", true)
	set(func() { s.skewed, s.fail = 0, func(string) error { return statusError(403) } })
	turn("they agree again, with an error as the response", false)
	stop()
}
