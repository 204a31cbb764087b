// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// storm is how long watches fail. listed is the maximum number of lists of a collection in that time.
const (
	storm  = 20 * time.Second
	listed = 12
)

// TestF10EveryWatchIsAnswered410 closes connections twice a second, and answers each watch that resumes with 410 Expired.
// Everything must be relisted each time.
func TestF10EveryWatchIsAnswered410(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true}) // a list of other scenarios' objects may take longer than the time between two cuts
	s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scenario.Start{})
	s.Gone(s.ConfigMap("before", preview))
	expired := r.Proxy.Arm(proxy.Fault{Match: resumes(""), Answer: &proxy.Answer{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}})
	s.Expect(expired)
	stop := cuts(s, r)
	relisted(s, r)
	s.Gone(s.ConfigMap("meanwhile", preview)) // a relist shows it
	stop()
	expired.Lift()
	s.Gone(s.ConfigMap("after", preview))
	s.Calm()
}

// TestF10WatchesEndAsSoonAsTheyHaveBegun closes connections twice a second, and drops all bookmarks. Then watches last for a
// while without bookmarks, and end.
func TestF10WatchesEndAsSoonAsTheyHaveBegun(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true}) // beside other scenarios, a request to renew the Lease may take longer than the time between two cuts
	s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scenario.Start{})
	s.Gone(s.ConfigMap("before", preview))
	var withheld atomic.Int64
	lift := r.Proxy.Frames(proxy.Requests("watch", ""), func(event []byte) [][]byte {
		if bytes.Contains(event, []byte(`"type":"BOOKMARK"`)) && !bytes.Contains(event, []byte("k8s.io/initial-events-end")) {
			withheld.Add(1)
			return nil
		}
		return [][]byte{event}
	})
	stop := cuts(s, r)
	relisted(s, r)
	s.Gone(s.ConfigMap("meanwhile", preview))
	stop()
	cluster.Eventually(s, 2*time.Minute, func() error { // bookmarks arrive once a minute
		return cluster.Want(withheld.Load() > 0, "no bookmark was withheld")
	})
	r.Proxy.Cut()
	s.Gone(s.ConfigMap("without", preview))
	lift()
	s.Gone(s.ConfigMap("after", preview))
	s.Calm()
}

// cuts closes all connections of a replica twice a second.
func cuts(s *scenario.Scenario, r *scenario.Replica) (stop func()) {
	befell(s, r, "closed connections", func(t proxy.Counts) int { return t.Cut })
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				r.Proxy.Cut()
			}
		}
	}()
	return func() { close(end); <-ended }
}

// relisted waits until the storm is over, and fails the test if collections were read too often.
func relisted(s *scenario.Scenario, r *scenario.Replica) {
	s.Helper()
	bystander := s.ConfigMap("bystander", nil)
	recorded := map[string]func() []proxy.Entry{}
	for _, resource := range []string{"configmaps", "clusterretentionpolicies", "retentionpolicies", "clusterretentionapprovals", "retentionapprovals", "namespaces"} {
		recorded[resource] = r.Proxy.Record(relists(resource))
	}
	watches := r.Proxy.Record(proxy.Requests("watch", ""))
	s.Stays(storm, bystander)
	for resource, entries := range recorded {
		if n := len(entries()); n > listed {
			s.Errorf("%s were listed %d times in %s", resource, n, storm)
		} else {
			s.Logf("%s were listed %d times in %s", resource, n, storm)
		}
	}
	s.Logf("%d watches in %s", len(watches()), storm)
}
