package faults_test

import (
	"bytes"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scene"
	"github.com/sunset-k8s/sunset/test/gate"
)

// storm is how long watches are in trouble, and listed at most how often a collection may be read meanwhile.
const (
	storm  = 20 * time.Second
	listed = 12
)

// Watches are cut twice a second, and each that goes on where another ended is told that this is too long ago: all has to be
// listed again, again and again.
func TestF10EveryWatchIsAnswered410(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{Alone: true}) // a list of what others have may take longer than there is between two cuts
	s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scene.Start{})
	s.Gone(s.ConfigMap("before", preview))
	expired := r.Gate.Arm(gate.Fault{Match: resumes(""), Answer: &gate.Answer{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}})
	s.Expect(expired)
	stop := cuts(s, r)
	relisted(s, r)
	s.Gone(s.ConfigMap("meanwhile", preview)) // listed again it is seen
	stop()
	expired.Lift()
	s.Gone(s.ConfigMap("after", preview))
	s.Calm()
}

// Watches are cut twice a second, and no bookmark says how far they came; nor does one when they last for a while, and end then.
func TestF10WatchesEndAsSoonAsTheyHaveBegun(t *testing.T) {
	scene.Long(t)
	s := scene.New(t, scene.Options{})
	s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scene.Start{})
	s.Gone(s.ConfigMap("before", preview))
	var withheld atomic.Int64
	lift := r.Gate.Frames(gate.Requests("watch", ""), func(event []byte) [][]byte {
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
	cluster.Eventually(s, 2*time.Minute, func() error { // they come each minute
		if withheld.Load() == 0 {
			return errors.New("no bookmark has come to be withheld")
		}
		return nil
	})
	r.Gate.Cut()
	s.Gone(s.ConfigMap("without", preview))
	lift()
	s.Gone(s.ConfigMap("after", preview))
	s.Calm()
}

// cuts ends all connections of a replica twice a second.
func cuts(s *scene.Scene, r *scene.Replica) (stop func()) {
	befell(s, r, "connections that are cut", func(t gate.Tally) int { return t.Cut })
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
				r.Gate.Cut()
			}
		}
	}()
	return func() { close(end); <-ended }
}

// relisted waits until the storm is over and fails the test if collections were read too often.
func relisted(s *scene.Scene, r *scene.Replica) {
	s.Helper()
	bystander := s.ConfigMap("bystander", nil)
	recorded := map[string]func() []gate.Entry{}
	for _, resource := range []string{"configmaps", "clusterretentionpolicies", "retentionpolicies", "namespaces"} {
		recorded[resource] = r.Gate.Record(relists(resource))
	}
	watches := r.Gate.Record(gate.Requests("watch", ""))
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
