// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF35ACrashLoop kills the controller twenty times, each time when it has sent a DELETE or after four seconds, in a
// backlog that exceeds the limit.
func TestF35ACrashLoop(t *testing.T) {
	scenario.Long(t)
	const backlog, limit, crashes = 60, 40, 20
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "0s")+limited(limit))
	configMaps(s, "cm", backlog, preview)
	held, bystander := s.ConfigMap("held", preview), s.ConfigMap("bystander", nil)
	s.Hold(held)
	r := s.Sunset(scenario.Start{Flags: []string{"--leader-elect=false", "--max-deletions-per-second=4"}})
	listed := r.Proxy.Record(relists("configmaps"))
	for range crashes {
		before := len(r.Deletes())
		for began := time.Now(); len(r.Deletes()) == before && time.Since(began) < 4*time.Second; {
			s.Stays(50*time.Millisecond, held, bystander)
		}
		r.Kill()
		r.Restart()
	}
	s.Logf("%d DELETEs and %d lists of ConfigMaps with %d crashes", len(r.Deletes()), len(listed()), crashes)
	if n := len(listed()); n > 2*crashes {
		t.Errorf("%d lists with %d crashes", n, crashes)
	}
	byLedger(s, p, limit)
	tells(s, p, v1alpha1.ConditionEnforcing, "LimitReached")
	s.Stays(3*time.Second, held, bystander)
	if err := left(s, preview, backlog-limit+1); err != nil {
		t.Error(err)
	}
	s.Calm()
}
