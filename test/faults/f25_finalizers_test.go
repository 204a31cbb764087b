// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF25FinalizersThatNobodyRemoves has sixty objects, the oldest, with a finalizer that no client removes. Sunset sends one
// DELETE for each, with either propagation policy. It deletes the other objects on time, and later ones too.
func TestF25FinalizersThatNobodyRemoves(t *testing.T) {
	t.Parallel()
	for name, propagation := range map[string]string{"background": "Background", "foreground": "Foreground"} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			stuckObjects(t, scenario.Options{}, propagation)
		})
	}
}

func stuckObjects(t *testing.T, o scenario.Options, propagation string) {
	const stuck, free = 60, 40
	s := scenario.New(t, o)
	for _, cm := range configMaps(s, "stuck", stuck, preview) {
		s.Change(cm, func() { cm.Finalizers = []string{"example.com/never"} })
		t.Cleanup(func() { unstick(s, cm) })
	}
	configMaps(s, "free", free, preview)
	leads, waits := pair(s, scenario.Start{Failover: true})
	p := s.Policy("previews", previews("Enforce", "0s")+"  delete: {propagationPolicy: "+propagation+"}\n"+limited(500))
	atMost(s, preview, stuck)
	byLedger(s, p, stuck+free)
	began := time.Now()
	s.Gone(s.ConfigMap("late", preview))
	t.Logf("a later object was deleted after %s", time.Since(began).Round(time.Millisecond))
	silent(t, 8*time.Second, leads, waits)
	once(t, leads.Deletes(), "stuck-", stuck)
	leads.Kill()
	s.Gone(s.ConfigMap("later", preview))
	silent(t, 5*time.Second, waits)
	once(t, append(leads.Deletes(), waits.Deletes()...), "stuck-", stuck)
	byLedger(s, p, stuck+free+2)
	s.Calm()
}

// once fails the test unless each of the given number of objects with a name prefix got one DELETE.
func once(t *testing.T, deletes []proxy.Entry, prefix string, objects int) {
	t.Helper()
	counts := map[string]int{}
	for _, e := range deletes {
		if strings.HasPrefix(e.Name, prefix) {
			counts[e.Name]++
		}
	}
	if len(counts) != objects {
		t.Errorf("%d objects got a DELETE, want %d", len(counts), objects)
	}
	for name, n := range counts {
		if n > 1 {
			t.Errorf("%d DELETEs for %s", n, name)
		}
	}
}

// unstick removes all finalizers.
func unstick(s *scenario.Scenario, cm *corev1.ConfigMap) {
	_ = s.Patch(context.Background(), cm, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
}
