// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// crashing deletes some objects immediately and others soon, counts both separately, and keeps one because of the limit.
const crashing = `
mode: Enforce
limits: {maxDeletions: 6, window: 1h}
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttlExpression: "object.metadata.name.startsWith('soon') ? duration('6s') : duration('0s')"
  outcome: "object.metadata.name.startsWith('soon') ? 'Soon' : 'AtOnce'"
`

// moment is before or after the n-th write of a verb and resource.
type moment struct {
	verb, resource string
	n              int
	after          bool
}

func (m moment) String() string {
	when := "before"
	if m.after {
		when = "after"
	}
	return fmt.Sprintf("%s %s %s %d", when, m.verb, m.resource, m.n)
}

// fault kills a replica at the moment: before its write reaches the API server, or after the API server has carried it out.
func (m moment) fault(r *scenario.Replica) proxy.Fault {
	f := proxy.Fault{Match: proxy.Requests(m.verb, m.resource), Skip: m.n - 1, Times: 1}
	if m.after {
		f.DoAfter, f.Drop = r.Kill, proxy.After
	} else {
		f.Do, f.Drop = r.Kill, proxy.Before
	}
	return f
}

// storeWrite returns the moment of a write to a store, without its number; the zero moment for a read.
func storeWrite(method, name string) moment {
	if method != http.MethodPut && method != http.MethodDelete {
		return moment{}
	}
	for _, part := range []string{"index/probe", "index", "segments", "probe"} {
		if strings.Contains(name, "/"+part+"/") {
			return moment{verb: method, resource: part}
		}
	}
	return moment{}
}

func (m moment) toStore() bool { return m.verb == http.MethodPut || m.verb == http.MethodDelete }

// match matches only the write of the moment, in a store.
func (m moment) match() func(method, name string) bool {
	var n atomic.Int64
	return func(method, name string) bool {
		w := storeWrite(method, name)
		return w.verb == m.verb && w.resource == m.resource && n.Add(1) == int64(m.n)
	}
}

// TestF17TheLeaderIsKilledAtAWrite kills the leader before or after one of its writes, and the other replica takes over. The
// remaining objects and the counts must be the same each time. In make faults, the leader is killed at every write of a run
// without faults; runs differ by a few writes.
func TestF17TheLeaderIsKilledAtAWrite(t *testing.T) {
	t.Parallel()
	moments := []moment{
		{"create", "retentionledgers", 1, true},
		{"update", "retentionledgers", 1, false}, {"update", "retentionledgers", 2, true},
		{"delete", "configmaps", 1, false}, {"delete", "configmaps", 2, true},
	}
	for _, m := range moments {
		t.Run(m.String(), func(t *testing.T) {
			scenario.Short(t)
			mustKillAt(t, scenario.Options{}, m)
		})
	}
	t.Run("every write", func(t *testing.T) {
		if os.Getenv("SUNSET_FAULTS") != "all" {
			t.Skip("run make faults to kill at every write")
		}
		killAtEach(t, false, moments...)
	})
}

// TestF17TheLeaderIsKilledAtAWriteOfAnArchive is TestF17TheLeaderIsKilledAtAWrite with a rule that archives: the leader is killed at the
// writes to the store too.
func TestF17TheLeaderIsKilledAtAWriteOfAnArchive(t *testing.T) {
	t.Parallel()
	if os.Getenv("SUNSET_FAULTS") != "all" {
		t.Skip("run make faults to kill at every write")
	}
	killAtEach(t, true)
}

// killAtEach kills the leader before and after each write of a run without faults, except at some moments.
func killAtEach(t *testing.T, archives bool, except ...moment) {
	met := &met{}
	t.Cleanup(func() { met.end(t) }) // after the parallel subtests
	for _, m := range everyWrite(t, archives) {
		if !slices.Contains(except, m) {
			t.Run(m.String(), func(t *testing.T) {
				scenario.Long(t)
				if !met.is(m, killedAt(t, scenario.Options{}, m, archives)) {
					t.Skip("not reached: this run had no such write")
				}
			})
		}
	}
}

// met counts the moments of a run without faults that other runs have reached.
type met struct {
	mu  sync.Mutex
	n   int
	not []string
}

func (m *met) is(a moment, met bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if met {
		m.n++
	} else {
		m.not = append(m.not, a.String())
	}
	return met
}

// end logs the counts. It fails if -run names a moment that the run without faults did not have.
func (m *met) end(t *testing.T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Logf("killed at %d moments; not reached: %d %q", m.n, len(m.not), m.not)
	if m.n == 0 && !t.Failed() {
		t.Error("the run is void: no moment was reached")
	}
}

func mustKillAt(t *testing.T, o scenario.Options, m moment) {
	t.Helper()
	if !killedAt(t, o, m, false) {
		scenario.Void(t, "missing the write")
	}
}

// killedAt kills the leader at a moment, and reports whether the run reached it.
func killedAt(t *testing.T, o scenario.Options, m moment, archives bool) bool {
	s := scenario.New(t, o)
	var a *scenario.Archive
	if archives {
		a = s.Archive("history")
	}
	leads, _ := pair(s, scenario.Start{Failover: true})
	var fired func() int
	var lift func()
	if m.toStore() {
		armed := a.Proxy.Arm(m.match(), killing(leads, m.after))
		fired, lift = armed.Fired, armed.Lift
	} else {
		armed := leads.Proxy.Arm(m.fault(leads))
		fired, lift = armed.Fired, armed.Lift
	}
	converged(s, crashes(s, a))
	lift()
	struck := fired() > 0
	if struck && leads.Running() {
		t.Error("the killed replica is still running")
	}
	s.Calm()
	return struck
}

// everyWrite returns the moments before and after each write of a run without faults, except writes of leases and Events,
// which are not counted. The run is not a subtest: otherwise -run with the name of one moment would skip it, and with it all
// moments.
func everyWrite(t *testing.T, archives bool) (all []moment) {
	s := scenario.New(t, scenario.Options{})
	defer s.End()
	var a *scenario.Archive
	if archives {
		a = s.Archive("history")
	}
	leads, _ := pair(s, scenario.Start{Failover: true})
	writes := leads.Proxy.Record(proxy.Writes("").And(proxy.Requests("", "leases").Or(proxy.Requests("", "events")).Not()))
	converged(s, crashes(s, a))
	counts := map[moment]int{}
	add := func(m moment) {
		counts[m]++
		m.n = counts[m]
		all = append(all, m)
		m.after = true
		all = append(all, m)
	}
	for _, e := range writes() {
		add(moment{verb: e.Verb, resource: e.Resource})
	}
	if archives {
		for _, e := range a.Proxy.Journal() {
			if m := storeWrite(e.Method, e.Name); m.toStore() {
				add(m)
			}
		}
	}
	s.Calm()
	t.Logf("a run without faults makes %d writes", len(all)/2)
	return all
}

// crashes creates the policy, five due objects, two that are due soon, one that is held and one that is not selected. Its rule archives
// if there is an archive.
func crashes(s *scenario.Scenario, a *scenario.Archive) *v1alpha1.ClusterRetentionPolicy {
	s.Helper()
	for _, name := range []string{"now-0", "now-1", "now-2", "now-3", "now-4", "soon-0", "soon-1"} {
		s.ConfigMap(name, preview)
	}
	s.Hold(s.ConfigMap("held", preview))
	s.ConfigMap("bystander", nil)
	spec := crashing
	if a != nil {
		spec += "  archive: {to: " + a.Name + "}\n"
	}
	return s.Policy("crashes", spec)
}

// converged waits until the state is that at the end of a run without faults.
func converged(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) {
	s.Helper()
	s.Eventually(func() error {
		l := s.Ledger(p)
		if l == nil {
			return fmt.Errorf("the policy has no ledger")
		}
		var spent, outcomes int64
		for _, some := range l.Spent {
			spent += some.Count
		}
		for _, r := range l.Rules {
			for _, o := range r.Outcomes {
				outcomes += o.Deleted + o.Gone
			}
		}
		if l.Total.Deleted+l.Total.Gone != 6 || spent != 6 || outcomes != 6 || len(l.Open) > 0 {
			return fmt.Errorf("counted %v, spent %d, by outcome %d, open %v", l.Total, spent, outcomes, l.Open)
		}
		left := &corev1.ConfigMapList{}
		n := s.Left(left, preview)
		held := slices.ContainsFunc(left.Items, func(cm corev1.ConfigMap) bool { return cm.Name == "held" })
		return cluster.Want(n == 2 && held, "%d objects left, and among them the held one: %t", n, held)
	})
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if l := s.Ledger(p); status.Ledger == nil || status.Ledger.LedgerCount != l.Total || status.Ledger.Open != 0 || status.Deleted != l.Total.Deleted {
			return fmt.Errorf("status differs from the ledger, which has %v: %d deleted", l.Total, status.Deleted)
		}
		return nil
	})
}
