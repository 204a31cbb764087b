// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF34EtcdIsKilledAndComesBack kills etcd in the middle of a backlog and restarts it with the same data.
func TestF34EtcdIsKilledAndComesBack(t *testing.T) {
	scenario.Long(t)
	const backlog = 60
	s := scenario.New(t, scenario.Options{Alone: true})
	p := s.Policy("previews", previews("DryRun", "0s")+limited(1000))
	all := configMaps(s, "cm", backlog, preview)
	held, bystander := s.ConfigMap("held", preview), s.ConfigMap("bystander", nil)
	s.Hold(held)
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false", "--max-deletions-per-second=10"}})
	counted(s, p, backlog+1)
	s.Edit(p, enforces)
	middle(s, backlog)
	expect.NoError(t, s.Cluster.Kill(cluster.Etcd))
	time.Sleep(5 * time.Second) // no API server answers in this time
	expect.NoError(t, s.Cluster.Restart(t.Context(), cluster.Etcd))
	restartIfEnded(r)
	for _, cm := range all {
		s.Gone(cm)
	}
	byLedger(s, p, backlog)
	s.Stays(time.Second, held, bystander)
	s.Calm()
}

// TestF34EtcdIsRestoredFromAnOlderState restores an older state of etcd while Sunset runs, which an operator must not do.
// Changes that Sunset has seen are lost: a removed hold is back, a stricter policy has its old spec, and revisions are
// reused.
func TestF34EtcdIsRestoredFromAnOlderState(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Own: true})
	p := s.Policy("previews", previews("Enforce", "1h"))
	held, waits, bystander := s.ConfigMap("held", preview), s.ConfigMap("waits", preview), s.ConfigMap("bystander", nil)
	s.Hold(held)
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false"}})
	counted(s, p, 2)
	older, err := s.Cluster.Snapshot()
	expect.NoError(t, err)

	for range 300 {
		s.Touch(bystander)
	}
	s.Unhold(held)
	s.Edit(p, enforcesAfter(soon(waits, 30*time.Second)))
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.ObservedGeneration >= 2 && status.Held == 0, "status does not include the changes yet")
	})
	expect.NoError(t, s.Cluster.Kill(cluster.APIServer))
	expect.NoError(t, s.Cluster.Kill(cluster.SecondAPIServer))
	expect.NoError(t, s.Cluster.Rewind(t.Context(), older))
	for _, server := range []cluster.Component{cluster.APIServer, cluster.SecondAPIServer} {
		expect.NoError(t, s.Cluster.Restart(t.Context(), server))
	}
	select {
	case <-r.Ended():
	case <-time.After(scenario.Patience()):
		t.Fatal("the controller continues with outdated data")
	}
	if !strings.Contains(r.Log(), "resourceVersions of the API server went back") {
		t.Error("the log does not say why the controller ended")
	}
	s.Stays(0, held, waits, bystander)
	r.Restart()
	counted(s, p, 2)
	s.Stays(3*time.Second, held, waits, bystander)
	s.Edit(p, enforces)
	s.Gone(waits)
	s.Stays(time.Second, held, bystander)
	s.Calm()
}

// soon returns a TTL after which an object is due in a while.
func soon(object client.Object, in time.Duration) string {
	return (time.Since(object.GetCreationTimestamp().Time) + in).Round(time.Second).String()
}
