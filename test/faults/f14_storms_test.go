// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF14DeletesGetRetryAfter answers every DELETE of a backlog with Retry-After: 3.
func TestF14DeletesGetRetryAfter(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("DryRun", "0s"))
	backlog := configMaps(s, "cm", 60, preview)
	r := s.Sunset(scenario.Start{})
	counted(s, p, 60)
	busy := r.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps"), Answer: &proxy.Answer{
		Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Headers: map[string]string{"Retry-After": "3"}}})
	s.Expect(busy)
	s.Edit(p, enforces)
	fired(s, busy)
	s.Stays(9*time.Second, backlog[0], backlog[59])
	tried := r.Deletes()
	s.Logf("%d DELETEs in 9s", len(tried))
	if len(tried) > 40 {
		t.Errorf("%d DELETEs were sent although the first 16 were answered with Retry-After", len(tried))
	}
	for i := 1; i < len(tried); i++ {
		if pause := tried[i].At.Sub(tried[i-1].Done); pause > 500*time.Millisecond && pause < 2500*time.Millisecond {
			t.Errorf("a DELETE was sent %s after an answer with Retry-After: 3", pause)
		}
	}
	busy.Lift()
	for _, cm := range backlog {
		s.Gone(cm)
	}
	s.Calm()
}

// TestF14HalfOfAllRequestsFail answers half of all requests of two replicas with a server error, including requests of leader
// election.
func TestF14HalfOfAllRequestsFail(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"500": http.StatusInternalServerError, "503": http.StatusServiceUnavailable, "504": http.StatusGatewayTimeout} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			s := scenario.New(t, scenario.Options{})
			s.Policy("previews", previews("Enforce", "0s")+limited(1000))
			stays, held := s.ConfigMap("stays", nil), s.ConfigMap("held", preview)
			s.Hold(held)
			replicas := []*scenario.Replica{s.Sunset(scenario.Start{Failover: true}), s.Sunset(scenario.Start{Failover: true})}
			s.Gone(s.ConfigMap("before", preview))
			var armed []*proxy.Armed
			for _, r := range replicas {
				armed = append(armed, r.Proxy.Arm(proxy.Fault{Match: half(), Answer: &proxy.Answer{Code: code}}))
			}
			s.Expect(armed...)
			began := time.Now()
			backlog := configMaps(s, "cm", 30, preview)
			s.Stays(15*time.Second, stays, held)
			for _, r := range replicas {
				requests := len(since(began, r.Proxy.Journal()))
				s.Logf("%d requests in 15s", requests)
				if requests > 1500 {
					t.Errorf("%d requests in 15s are too many", requests)
				}
			}
			for i, r := range replicas {
				armed[i].Lift()
				restartIfEnded(r)
			}
			for _, cm := range backlog {
				s.Gone(cm)
			}
			s.Stays(0, stays, held)
			s.Calm()
		})
	}
}

// half matches every second request of one replica.
func half() proxy.Match {
	var n atomic.Int64
	return func(*http.Request) bool { return n.Add(1)%2 == 0 }
}
