package faults_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scene"
	"github.com/sunset-k8s/sunset/test/gate"
)

// crashing deletes what goes at once and what goes soon, counts both apart, and leaves one of all for want of room.
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

// fault kills a replica at the moment: before its write reaches the API server, or once it has been carried out.
func (m moment) fault(r *scene.Replica) gate.Fault {
	f := gate.Fault{Match: gate.Requests(m.verb, m.resource), Skip: m.n - 1, Times: 1}
	if m.after {
		f.DoAfter, f.Drop = r.Kill, gate.After
	} else {
		f.Do, f.Drop = r.Kill, gate.Before
	}
	return f
}

// The leader is killed before or after one of its writes, and the other replica takes over. What is left and what is counted is
// the same each time. In make faults it is killed at every write that an undisturbed run makes; runs differ by a few.
func TestF17TheLeaderIsKilledAtAWrite(t *testing.T) {
	moments := []moment{
		{"create", "retentionledgers", 1, true},
		{"update", "retentionledgers", 1, false}, {"update", "retentionledgers", 1, true},
		{"delete", "configmaps", 2, true},
	}
	for _, m := range moments {
		t.Run(m.String(), func(t *testing.T) {
			scene.Short(t)
			killedAt(t, m)
		})
	}
	t.Run("every write", func(t *testing.T) {
		if os.Getenv("SUNSET_FAULTS") != "all" {
			t.Skip("make faults kills at every write")
		}
		tried := 0
		for _, m := range everyWrite(t) {
			if !slices.Contains(moments, m) {
				t.Run(m.String(), func(t *testing.T) {
					tried++ // before what is parallel begins
					scene.Long(t)
					killedAt(t, m)
				})
			}
		}
		if tried == 0 {
			t.Error("the run is void: the undisturbed run has none of the moments that -run asks for")
		}
	})
}

func killedAt(t *testing.T, m moment) {
	s := scene.New(t, scene.Options{})
	leads, _ := pair(s, scene.Start{})
	armed := leads.Gate.Arm(m.fault(leads))
	converged(s, crashes(s))
	if armed.Fired() == 0 {
		t.Skip("void: this run had fewer writes of the sort")
	}
	if leads.Running() {
		t.Error("the replica that was killed runs")
	}
}

// everyWrite is before and after each write of an undisturbed run, but for leases and Events, which count nothing. The run is no
// subtest of its own, as -run with the name of one moment would leave that out, and with it every moment.
func everyWrite(t *testing.T) (all []moment) {
	s := scene.New(t, scene.Options{})
	defer s.End()
	leads, _ := pair(s, scene.Start{})
	writes := leads.Gate.Record(gate.Writes("").And(gate.Requests("", "leases").Or(gate.Requests("", "events")).Not()))
	converged(s, crashes(s))
	counts := map[string]int{}
	for _, e := range writes() {
		counts[e.Verb+e.Resource]++
		m := moment{e.Verb, e.Resource, counts[e.Verb+e.Resource], false}
		all = append(all, m)
		m.after = true
		all = append(all, m)
	}
	t.Logf("an undisturbed run makes %d writes", len(all)/2)
	return all
}

// crashes makes five that are due, two that are due soon, one that is held and one that is not meant, and the policy.
func crashes(s *scene.Scene) *v1alpha1.ClusterRetentionPolicy {
	s.Helper()
	for _, name := range []string{"now-0", "now-1", "now-2", "now-3", "now-4", "soon-0", "soon-1"} {
		s.ConfigMap(name, preview)
	}
	s.Hold(s.ConfigMap("held", preview))
	s.ConfigMap("bystander", nil)
	return s.Policy("crashes", crashing)
}

// converged waits until everything is as it is at the end of an undisturbed run.
func converged(s *scene.Scene, p *v1alpha1.ClusterRetentionPolicy) {
	s.Helper()
	s.Eventually(func() error {
		l := s.Ledger(p)
		if l == nil {
			return fmt.Errorf("there is no ledger")
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
		if left := s.Left(&corev1.ConfigMapList{}, preview); left != 2 {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if l := s.Ledger(p); status.Ledger == nil || status.Ledger.LedgerCount != l.Total || status.Ledger.Open != 0 {
			return fmt.Errorf("the ledger says %v", l.Total)
		}
		return nil
	})
}
