// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/controllers/kube"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/test/answer"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// TestWriteRequestsExpireAfterASecond: a request is not sent if its checks are more than a second old, for example because the connection took
// long. A request whose body was sent never counts as unsent.
func TestWriteRequestsExpireAfterASecond(t *testing.T) {
	for name, test := range map[string]struct {
		age, dial, write time.Duration
		sent             bool
	}{
		"in time":                 {time.Second, 0, 0, true},
		"too late":                {time.Second + 1, 0, 0, false},
		"connection takes 2 s":    {0, 2 * time.Second, 0, false},
		"connection takes 1 s":    {0, time.Second, 0, true},
		"the body is sent slowly": {0, 0, 2 * time.Second, true},
	} {
		for _, http2 := range []bool{false, true} {
			for _, request := range []string{"DELETE", "PATCH"} {
				t.Run(name+" "+request, func(t *testing.T) {
					c, clock, whole := behindASlowConnection(t, http2, test.dial, test.write)
					since := clock.Now().Add(-test.age)
					var o retention.Outcome
					if request == "PATCH" {
						o = c.Mark(t.Context(), fixture.Jobs, marking(t, nightly, true), since)
					} else {
						w, prepared := prepare(t, c)
						o = prepared.Send(t.Context(), w, since)
					}
					expect.Equal(t, "unsent", !test.sent, o.Unsent)
					expect.Equal(t, "unsure", false, o.Unsure)
					expect.Equal(t, "done", test.sent, o.Result == retention.Removed || o.Result == retention.Marked)
					expect.Equal(t, "whole requests", test.sent, whole.Load() == 1)
				})
			}
		}
	}
}

// TestWriteRequestRetriesExpireAfterASecond: if a connection ends before anything was sent, the client sends the request again. The age of
// the same checks limits that too.
func TestWriteRequestRetriesExpireAfterASecond(t *testing.T) {
	for name, test := range map[string]struct {
		pause time.Duration
		sent  bool
	}{"in time": {time.Second, true}, "late": {time.Second + 1, false}} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(now)
			again := answer.Func(func(r *http.Request) (*http.Response, error) {
				_ = r.Body.Close()
				clock.Step(test.pause)
				body, err := r.GetBody()
				if err != nil {
					return nil, err
				}
				if _, err := io.ReadAll(body); err != nil {
					return nil, err
				}
				recorder := httptest.NewRecorder()
				ok(recorder, r)
				return recorder.Result(), nil
			})
			w, prepared := prepare(t, clusterWith(t, &rest.Config{Host: "http://server"}, &http.Client{Transport: again}, clock))
			o := prepared.Send(t.Context(), w, clock.Now())
			expect.Equal(t, "unsent", !test.sent, o.Unsent)
			expect.Equal(t, "unsure", false, o.Unsure)
			expect.Equal(t, "deleted", test.sent, o.Result == retention.Removed)
		})
	}
}

// behindASlowConnection returns a Cluster, its clock, and the number of whole requests that the API server has received. Getting a
// connection takes dial on the clock, and sending a body takes write.
func behindASlowConnection(t *testing.T, http2 bool, dial, write time.Duration) (*kube.Cluster, *clocktesting.FakeClock, *atomic.Int32) {
	t.Helper()
	var whole atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			whole.Add(1)
		}
		ok(w, r)
	}))
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	clock := clocktesting.NewFakeClock(now)
	client := server.Client()
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		clock.Step(dial)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	transport := client.Transport
	client.Transport = answer.Func(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			r.Body = slowBody{r.Body, clock, write}
		}
		return transport.RoundTrip(r)
	})
	return clusterWith(t, &rest.Config{Host: server.URL}, client, clock), clock, &whole
}

// slowBody takes some time after each read.
type slowBody struct {
	io.ReadCloser
	clock *clocktesting.FakeClock
	write time.Duration
}

func (b slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.clock.Step(b.write)
	}
	return n, err
}
