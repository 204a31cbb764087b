// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// pair starts two replicas, one at each API server, and returns the leader and the standby replica.
func pair(s *scenario.Scenario, start scenario.Start) (leads, waits *scenario.Replica) {
	s.Helper()
	first := s.Sunset(start)
	start.Server = scenario.B
	second := s.Sunset(start)
	if s.Leader() == first {
		return first, second
	}
	return second, first
}

// fired waits until a fault has fired.
func fired(s *scenario.Scenario, fault *proxy.Armed) {
	s.Helper()
	select {
	case <-fault.Arrived():
	case <-time.After(scenario.Patience()):
		s.Fatal("the fault did not fire: no request matched")
	}
}

// befell makes a run void unless the watches, connections or dates of a replica were changed.
func befell(s *scenario.Scenario, r *scenario.Replica, what string, of func(proxy.Counts) int) {
	s.ExpectThat(what, func() bool { return of(r.Proxy.Counts()) > 0 })
}

// refuses makes a run void unless the API server has refused a DELETE, for example because the object has changed.
func refuses(s *scenario.Scenario, code int, replicas ...*scenario.Replica) {
	s.ExpectThat(fmt.Sprintf("a DELETE answered with %d", code), func() bool {
		return slices.ContainsFunc(replicas, func(r *scenario.Replica) bool { return len(with(code, r.Deletes())) > 0 })
	})
}

// arrives makes a run void unless the API server has answered the first request of a fault with a code, however late.
func arrives(s *scenario.Scenario, fault *proxy.Armed, code int) {
	s.ExpectThat(fmt.Sprintf("a late request answered with %d", code), func() bool {
		struck := fault.Matched()
		return len(struck) > 0 && struck[0].Answered == code
	})
}

// enforcing waits until a policy is enforced and its kinds are watched.
func enforcing(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		for _, name := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionEnforcing} {
			if c := scenario.Condition(status, name); c.Status != "True" {
				return fmt.Errorf("%s is %s, %s", name, c.Status, c.Reason)
			}
		}
		return nil
	})
}

// deleted waits until a policy's status has counted n deletions.
func deleted(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, n int64) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.Deleted == n, "%d deletions are counted, want %d", status.Deleted, n)
	})
}

// atMost waits until at most n ConfigMaps with labels exist.
func atMost(s *scenario.Scenario, labels map[string]string, n int) {
	s.Helper()
	s.Eventually(func() error {
		left := s.Left(&corev1.ConfigMapList{}, labels)
		return cluster.Want(left <= n, "%d objects left, want at most %d", left, n)
	})
}

// idle fails the test if a replica has ever sent a DELETE.
func idle(t *testing.T, r *scenario.Replica) {
	t.Helper()
	if sent := r.Deletes(); len(sent) > 0 {
		t.Errorf("%s sent DELETE %s, and %d more", r.User, sent[0].Path, len(sent)-1)
	}
}

// silent fails the test if replicas send a DELETE within a time.
func silent(t *testing.T, within time.Duration, replicas ...*scenario.Replica) {
	t.Helper()
	began := time.Now()
	for deadline := began.Add(within); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, r := range replicas {
			if sent := since(began, r.Deletes()); len(sent) > 0 {
				t.Fatalf("%s sent DELETE %s", r.User, sent[0].Path)
			}
		}
	}
}

// byLedger waits until the ledger of a policy has counted n deletions and has no open entries.
func byLedger(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, n int64) *v1alpha1.RetentionLedger {
	s.Helper()
	var l *v1alpha1.RetentionLedger
	s.Eventually(func() error {
		if l = s.Ledger(p); l == nil {
			return errors.New("the policy has no ledger")
		}
		got := l.Total.Deleted + l.Total.Gone
		return cluster.Want(got == n && len(l.Open) == 0, "%d deletions are counted, want %d; open: %v", got, n, l.Open)
	})
	return l
}

// come returns an error until a fault has affected n requests.
func come(fault *proxy.Armed, n int) error {
	got := fault.Fired()
	return cluster.Want(got >= n, "%d requests have arrived, want %d", got, n)
}
