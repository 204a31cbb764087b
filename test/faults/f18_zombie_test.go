// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF18ALeaderThatComesBackFromTheDead suspends the leader in the middle of a backlog for longer than its lease, with a
// DELETE in flight. The other replica takes over, and the object of that DELETE is held. Then the first replica resumes and
// the DELETE arrives.
func TestF18ALeaderThatComesBackFromTheDead(t *testing.T) {
	scenario.Short(t)
	comesBack(t, scenario.Options{})
}

func comesBack(t *testing.T, o scenario.Options) {
	const backlog, limit = 60, 40
	s := scenario.New(t, o)
	p := s.Policy("previews", previews("DryRun", "0s")+limited(limit))
	configMaps(s, "cm", backlog, preview)
	bystander := s.ConfigMap("bystander", nil)
	slowly := scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=8"}}
	dead := s.Sunset(slowly)
	counted(s, p, backlog)
	underWay := dead.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps"), Skip: 4, Times: 1, Hold: true, Late: true})
	s.Expect(underWay)
	arrives(s, underWay, http.StatusConflict)
	s.Edit(p, enforces)
	fired(s, underWay)
	dead.Stop()
	sent := len(dead.Deletes())
	late := &corev1.ConfigMap{}
	late.Namespace, late.Name = s.Namespace, underWay.Matched()[0].Name

	next := s.Sunset(slowly)
	s.Hold(late)
	s.Eventually(func() error {
		return cluster.Want(len(next.Deletes()) > 0, "the other replica has not taken over")
	})
	dead.Cont()
	underWay.Release()
	select {
	case <-dead.Ended():
	case <-time.After(scenario.Patience()):
		t.Fatal("the former leader did not end")
	}
	byLedger(s, p, limit)
	s.Stays(2*time.Second, late, bystander)
	if n := s.Left(&corev1.ConfigMapList{}, preview); n != backlog-limit {
		t.Errorf("%d objects left, want %d", n, backlog-limit)
	}
	s.Logf("%d DELETEs before the suspension, %d by the former leader afterwards", sent, len(dead.Deletes())-sent)
	if n := len(dead.Deletes()) - sent; n > 16 {
		t.Errorf("%d DELETEs by the former leader", n)
	}
	expectPreconditions(t, append(dead.Deletes(), next.Deletes()...))
	s.Calm()
}

// middle waits until some ConfigMaps of a backlog are deleted.
func middle(s *scenario.Scenario, backlog int) {
	s.Helper()
	s.Eventually(func() error {
		n := s.Left(&corev1.ConfigMapList{}, preview)
		return cluster.Want(n <= backlog-4, "%d objects left", n)
	})
}
