// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF22ClocksComeApart moves the API server's clock ahead or back in the middle of a backlog. Deletions stop and the policy
// reports why. They continue when the clocks agree.
func TestF22ClocksComeApart(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute, "by a little more than allowed": 8 * time.Second} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			const backlog = 100
			s := scenario.New(t, scenario.Options{})
			configMaps(s, "cm", backlog, preview)
			leads, waits := pair(s, scenario.Start{Flags: []string{"--max-deletions-per-second=30"}})
			p := s.Policy("previews", previews("Enforce", "0s"))
			atMost(s, preview, backlog-15)
			for _, r := range []*scenario.Replica{leads, waits} {
				r.Proxy.Skew(skew)
				befell(s, r, "wrong dates", func(t proxy.Counts) int { return t.Dated })
			}
			apart := time.Now()
			tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "clock skew")
			late := since(apart, leads.Deletes())
			left := s.Left(&corev1.ConfigMapList{}, preview)
			t.Logf("%d DELETEs sent after the clocks differed, the last %s after; %d of %d objects left",
				len(late), lastAfter(apart, late).Round(time.Millisecond), left, backlog)
			s.ExpectThat("objects that are left", func() bool { return left > 0 })
			silent(t, 2*time.Second, leads, waits)
			for _, r := range []*scenario.Replica{leads, waits} {
				r.Proxy.Skew(0)
			}
			atMost(s, preview, 0)
			s.Calm()
		})
	}
}
