// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF07TheWatchStandsStillWhileReadsAreLive freezes the watch of ConfigMaps without ending it; other requests work. When
// the objects become due, Sunset's cache is outdated: Sunset must evaluate the objects that have changed by their current
// state.
func TestF07TheWatchStandsStillWhileReadsAreLive(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p := s.Policy("previews", previews("Enforce", "1h"))
	held, relabelled := s.ConfigMap("held", preview), s.ConfigMap("relabelled", preview)
	touched, namesake := s.ConfigMap("touched", preview), s.ConfigMap("namesake", preview)
	r := s.Sunset(scenario.Start{})
	counted(s, p, 4)

	thaw := r.Proxy.Freeze(proxy.Requests("watch", "configmaps"))
	befell(s, r, "events that were held back", func(t proxy.Counts) int { return t.HeldBack })
	s.Hold(held)
	s.Change(relabelled, func() { relabelled.Labels = nil })
	s.Touch(touched)
	s.Remove(namesake)
	namesake = s.ConfigMap("namesake", nil)
	late := s.ConfigMap("late", preview)
	s.Edit(p, enforces)

	s.Gone(touched)
	s.Eventually(func() error {
		return cluster.Want(len(with(http.StatusConflict, r.Deletes())) >= 4, "not every changed object had a DELETE with its old version")
	})
	s.Stays(2*time.Second, held, relabelled, namesake, late)
	thaw()
	s.Gone(late)
	s.Stays(time.Second, held, relabelled, namesake)
	s.Calm()
}
