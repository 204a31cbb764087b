package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scene"
	"github.com/sunset-k8s/sunset/test/gate"
)

// pair starts two replicas, one at each API server, and returns the leader and the standby replica.
func pair(s *scene.Scene, start scene.Start) (leads, waits *scene.Replica) {
	s.Helper()
	first := s.Sunset(start)
	start.Server = scene.B
	second := s.Sunset(start)
	if s.Leader() == first {
		return first, second
	}
	return second, first
}

// fired waits until a fault has fired.
func fired(s *scene.Scene, fault *gate.Armed) {
	s.Helper()
	select {
	case <-fault.Arrived():
	case <-time.After(scene.Patience()):
		s.Fatal("the fault did not fire: no request matched")
	}
}

// befell makes a run void unless the watches, connections or dates of a replica were changed.
func befell(s *scene.Scene, r *scene.Replica, what string, of func(gate.Tally) int) {
	s.ExpectThat(what, func() bool { return of(r.Gate.Tally()) > 0 })
}

// refuses makes a run void unless the API server has refused a DELETE, for example because the object has changed.
func refuses(s *scene.Scene, code int, replicas ...*scene.Replica) {
	s.ExpectThat(fmt.Sprintf("a DELETE answered with %d", code), func() bool {
		return slices.ContainsFunc(replicas, func(r *scene.Replica) bool { return len(with(code, r.Deletes())) > 0 })
	})
}

// arrives makes a run void unless the API server has answered the first request of a fault with a code, however late.
func arrives(s *scene.Scene, fault *gate.Armed, code int) {
	s.ExpectThat(fmt.Sprintf("a late request answered with %d", code), func() bool {
		struck := fault.Struck()
		return len(struck) > 0 && struck[0].Answered == code
	})
}

// enforcing waits until a policy is enforced and its kinds are watched.
func enforcing(s *scene.Scene, p *v1alpha1.ClusterRetentionPolicy) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		for _, name := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionEnforcing} {
			if c := scene.Condition(status, name); c.Status != "True" {
				return fmt.Errorf("%s is %s, %s", name, c.Status, c.Reason)
			}
		}
		return nil
	})
}

// deleted waits until a policy's status has counted n deletions.
func deleted(s *scene.Scene, p *v1alpha1.ClusterRetentionPolicy, n int64) {
	s.Helper()
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if status.Deleted != n {
			return fmt.Errorf("%d deletions are counted, want %d", status.Deleted, n)
		}
		return nil
	})
}

// atMost waits until at most n ConfigMaps with labels exist.
func atMost(s *scene.Scene, labels map[string]string, n int) {
	s.Helper()
	s.Eventually(func() error {
		if left := s.Left(&corev1.ConfigMapList{}, labels); left > n {
			return fmt.Errorf("%d objects left, want at most %d", left, n)
		}
		return nil
	})
}

// idle fails the test if a replica has ever sent a DELETE.
func idle(t *testing.T, r *scene.Replica) {
	t.Helper()
	if sent := r.Deletes(); len(sent) > 0 {
		t.Errorf("%s sent DELETE %s, and %d more", r.User, sent[0].Path, len(sent)-1)
	}
}

// silent fails the test if replicas send a DELETE within a time.
func silent(t *testing.T, within time.Duration, replicas ...*scene.Replica) {
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
func byLedger(s *scene.Scene, p *v1alpha1.ClusterRetentionPolicy, n int64) *v1alpha1.RetentionLedger {
	s.Helper()
	var l *v1alpha1.RetentionLedger
	s.Eventually(func() error {
		if l = s.Ledger(p); l == nil {
			return errors.New("the policy has no ledger")
		}
		if got := l.Total.Deleted + l.Total.Gone; got != n || len(l.Open) > 0 {
			return fmt.Errorf("%d deletions are counted, want %d; open: %v", got, n, l.Open)
		}
		return nil
	})
	return l
}

// come returns an error until a fault has affected n requests.
func come(fault *gate.Armed, n int) error {
	if got := fault.Fired(); got < n {
		return fmt.Errorf("%d requests have arrived, want %d", got, n)
	}
	return nil
}
