// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF19TwoReplicasLeadAtATime has two leaders at a time, each with its own lease, because a user gave them different
// namespaces. Without a ledger, they do the same work twice, but nothing wrong. With a ledger, only the newer one counts.
func TestF19TwoReplicasLeadAtATime(t *testing.T) {
	scenario.Short(t)
	twoLead(t, scenario.Options{})
}

func twoLead(t *testing.T, o scenario.Options) {
	const backlog, limit = 40, 30
	s := scenario.New(t, o)
	elsewhere := s.More("elsewhere")
	p := s.Policy("previews", previews("DryRun", "0s"))
	all := configMaps(s, "cm", backlog, preview)
	held, bystander := s.ConfigMap("held", preview), s.ConfigMap("bystander", nil)
	s.Hold(held)
	one := s.Sunset(scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=4"}})
	two := s.Sunset(scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=4", "--namespace=" + elsewhere}})
	counted(s, p, backlog+1)
	for _, r := range []*scenario.Replica{one, two} {
		s.Eventually(func() error {
			renewed := func(e proxy.Entry) bool {
				return e.Resource == "leases" && e.Verb == "update" && e.Answered == http.StatusOK
			}
			return cluster.Want(slices.ContainsFunc(r.Proxy.Journal(), renewed), "%s does not lead", r.User)
		})
	}
	s.Edit(p, enforces)
	for _, cm := range all {
		s.Gone(cm)
	}
	s.ExpectThat("DELETEs of both replicas", func() bool { return len(one.Deletes()) > 0 && len(two.Deletes()) > 0 })
	s.Logf("%d DELETEs by the first and %d by the second replica, for %d objects", len(one.Deletes()), len(two.Deletes()), backlog)

	others := map[string]string{"env": "other"}
	configMaps(s, "other", backlog, others)
	s.Policy("others", labelled("other", "Enforce", "0s")+limited(limit))
	s.Eventually(func() error {
		return cluster.Want(one.Running() != two.Running(), "both replicas run, or none: want one, which holds the ledger")
	})
	s.Eventually(func() error { return left(s, others, backlog-limit) })
	again := one
	if one.Running() {
		again = two
	}
	if !strings.Contains(again.Log(), "another controller holds the ledger") {
		t.Error("the replica does not log why it ended")
	}
	leads := again.Proxy.Record(proxy.Writes("leases"))
	again.Restart() // as a cluster does: the replica takes over the ledger
	s.Eventually(func() error {
		return cluster.Want(len(with(http.StatusOK, leads())) > 0, "the restarted replica does not lead")
	})
	s.Stays(3*time.Second, held, bystander)
	if err := left(s, others, backlog-limit); err != nil {
		t.Error(err)
	}
	expectPreconditions(t, append(one.Deletes(), two.Deletes()...))
	s.Calm()
}

// left returns an error unless want ConfigMaps with labels exist.
func left(s *scenario.Scenario, labels map[string]string, want int) error {
	n := s.Left(&corev1.ConfigMapList{}, labels)
	return cluster.Want(n == want, "%d objects left, want %d", n, want)
}
