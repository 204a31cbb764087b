// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF51AStandbyKnowsDeletedObjects stops the events of the standby's watch before the leader deletes objects and is killed. The
// standby still knows these objects when it takes over, and the response to its first DELETE gets lost. It counts no object twice.
func TestF51AStandbyKnowsDeletedObjects(t *testing.T) {
	scenario.Long(t)
	const before, after = 10, 10
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("DryRun", "0s")+limited(before+after))
	configMaps(s, "before", before, preview)
	bystander := s.ConfigMap("bystander", nil)
	leads := s.Sunset(scenario.Start{Failover: true})
	counted(s, p, before)
	var watches *proxy.Armed
	standby := s.Sunset(scenario.Start{Failover: true, Before: func(r *scenario.Replica) {
		watches = r.Proxy.Arm(proxy.Fault{Match: proxy.Requests("watch", "configmaps")})
	}})
	fired(s, watches)
	s.Stays(3*time.Second, bystander) // the standby receives the objects
	thaw := standby.Proxy.Freeze(proxy.Requests("watch", "configmaps"))
	s.Expect(standby.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps"), Times: 1, Drop: proxy.After}))
	reads := standby.Proxy.Arm(proxy.Fault{Match: proxy.Requests("get", "configmaps")})
	s.Edit(p, enforces)
	byLedger(s, p, before)
	leads.Kill()
	s.Eventually(func() error { return come(reads, before) }) // it knows the objects, and reads each of them
	s.Stays(3*time.Second, bystander)
	if n := len(standby.Deletes()); n > 0 {
		t.Errorf("%d DELETEs of objects that the leader had deleted", n)
	}
	thaw()
	configMaps(s, "after", after, preview)
	l := byLedger(s, p, before+after)
	s.Logf("%d objects are counted as deleted, %d as gone", l.Total.Deleted, l.Total.Gone)
	s.Eventually(func() error {
		return cluster.Want(len(standby.Deletes()) >= after, "the new leader has not deleted the later objects")
	})
	s.Stays(0, bystander)
	s.Calm()
}
