// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF20TheLeaseCannotBeRenewed prevents the leader from renewing its lease; all other requests work. The leader must stop
// before the other replica starts.
func TestF20TheLeaseCannotBeRenewed(t *testing.T) {
	scenario.Long(t)
	losesLease(t, scenario.Options{})
}

func losesLease(t *testing.T, o scenario.Options) {
	s := scenario.New(t, o)
	s.Policy("previews", previews("Enforce", "0s"))
	elect := scenario.Start{Flags: []string{"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s"}}
	first := s.Sunset(elect)
	s.Gone(s.ConfigMap("before", preview))
	second := s.Sunset(elect)
	bystander := s.ConfigMap("bystander", nil)
	s.Expect(first.Proxy.Arm(proxy.Fault{Match: proxy.Writes("leases"), Answer: &proxy.Answer{Code: http.StatusInternalServerError}}))
	cut := time.Now()
	var all []string
	for i := 0; len(second.Deletes()) == 0; i++ { // an object is always due
		if time.Since(cut) > scenario.Patience() {
			t.Fatal("no replica has taken over")
		}
		restartIfEnded(second)
		all = append(all, s.ConfigMap(fmt.Sprintf("cm-%d", i), preview).Name)
		s.Stays(200*time.Millisecond, bystander)
	}
	last, next := since(cut, first.Deletes()), second.Deletes()[0]
	if len(last) == 0 {
		scenario.Void(t, "no object was deleted between the last renewal and the end of the leader")
	}
	end := last[len(last)-1]
	s.Logf("the last DELETE of the first replica was sent at most %s after its last renewal, the first DELETE of the second %s after it",
		end.At.Sub(cut).Round(time.Millisecond), next.At.Sub(cut).Round(time.Millisecond))
	if end.At.Sub(cut) > 5*time.Second || !next.At.After(end.Done) {
		t.Error("the first replica deletes for longer than it is certainly leader")
	}
	s.Eventually(func() error {
		if first.Running() {
			return errors.New("the first replica has not ended")
		}
		restartIfEnded(second)
		return left(s, preview, 0)
	})
	s.Stays(0, bystander)
	s.Logf("%d objects", len(all))
	s.Calm()
}

// restartIfEnded starts a replica again that has ended, as a cluster does: on a busy machine, it may not renew its lease in time.
func restartIfEnded(r *scenario.Replica) {
	if !r.Running() {
		r.Restart()
	}
}
