// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF16EveryRequestTakesSeconds delays every request by one second, and deletions continue. Then it delays every request by
// four seconds: the answers for a deletion would be too old when all are known. So Sunset deletes nothing, and keeps an
// object whose policy is suspended in that time.
func TestF16EveryRequestTakesSeconds(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scenario.Start{})
	s.Gone(s.ConfigMap("before", preview))
	all := proxy.Requests("", "leases").Not()
	slow := r.Proxy.Arm(proxy.Fault{Match: all, Delay: time.Second})
	s.Gone(s.ConfigMap("slowly", preview))
	slow.Lift()
	slower := r.Proxy.Arm(proxy.Fault{Match: all, Delay: 4 * time.Second})
	s.Expect(slow, slower)
	time.Sleep(3 * time.Second) // earlier answers are too old now
	cm := s.ConfigMap("too-slow", preview)
	s.Stays(12*time.Second, cm)
	tells(s, p, v1alpha1.ConditionEnforcing, "Stale")
	s.Edit(p, suspends)
	slower.Lift()
	s.Stays(3*time.Second, cm)
	s.Edit(p, enforces)
	s.Gone(cm)
	s.Calm()
}

// TestF16AnAPIServerStandsStill suspends an API server for half a minute, with requests of Sunset in flight. In that time all
// objects become due, and a user of the other API server holds one object, relabels one and suspends one policy.
func TestF16AnAPIServerStandsStill(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true})
	p := s.Policy("previews", previews("Enforce", "15s"))
	other := s.Policy("others", labelled("other", "Enforce", "15s"))
	r := s.Sunset(scenario.Start{Server: scenario.B, Flags: []string{"--leader-elect=false"}})
	counted(s, p, 0)
	goes, held, relabelled := s.ConfigMap("goes", preview), s.ConfigMap("held", preview), s.ConfigMap("relabelled", preview)
	suspended := s.ConfigMap("suspended", map[string]string{"env": "other"})
	counted(s, p, 3)
	counted(s, other, 1)

	expect.NoError(t, s.Cluster.Pause(cluster.SecondAPIServer))
	resume := func() error { return s.Cluster.Resume(cluster.SecondAPIServer) }
	t.Cleanup(func() { _ = resume() })
	began := time.Now()
	s.Hold(held)
	s.Change(relabelled, func() { relabelled.Labels = nil })
	s.Edit(other, suspends)
	silent(t, 30*time.Second-time.Since(began), r) // no deletion can succeed now, so none must be tried
	s.Stays(0, goes, held, relabelled, suspended)
	expect.NoError(t, resume())
	s.Gone(goes)
	s.Stays(3*time.Second, held, relabelled, suspended)
	s.Calm()
}
