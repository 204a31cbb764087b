// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// calm is how long the end of a scenario must be undisturbed: a little longer than a due object may exist.
const calm = 12 * time.Second

// busyAfter is how much longer than usual a read of the lease may take. If it takes longer, the machine is too busy to tell
// whether a deletion is late.
const busyAfter = 700 * time.Millisecond

// Quiet records that the scenario causes no faults from now on. Objects that are due ten seconds before the end must then be
// gone and counted at the end.
func (s *Scenario) Quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet, s.calmed = time.Now(), true
}

// Calm is the last step of a scenario, after all faults are lifted. It waits until due objects must be gone and counted,
// which the checker then checks. It starts again if the leader changes, or if the machine is so busy that a read of the lease
// is slow: replicas are slow too then. If the machine is always busy, this check is left out. Calm does nothing in make test,
// which has no time for it, or if the scenario has failed already.
func (s *Scenario) Calm() {
	s.Helper()
	s.mu.Lock()
	s.calmed = true
	s.mu.Unlock()
	if !long() || s.Failed() {
		return
	}
	holder, since, looked := s.holder(), time.Now(), time.Now()
	s.Quiet()
	for deadline := since.Add(Patience()); time.Since(since) < calm; time.Sleep(calm / 40) {
		now, busy := s.holder(), time.Since(looked) > calm/40+busyAfter
		looked = time.Now()
		if now != holder || busy {
			holder, since = now, looked
			s.Quiet()
		}
		switch {
		case looked.Before(deadline):
		case busy:
			return
		default:
			s.Fatal("no replica was leader for long enough")
		}
	}
}

// holder returns the identity in the scenario's lease; empty for none.
func (s *Scenario) holder() string {
	lease := &coordinationv1.Lease{}
	if s.Get(s.Context(), types.NamespacedName{Namespace: s.Home, Name: leaseName}, lease) != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// restless fails a scenario that is checked but has neither a quiet end nor a reason for not having one.
func (s *Scenario) restless() {
	s.mu.Lock()
	calmed := s.calmed
	s.mu.Unlock()
	if !calmed && s.options.Unsettled == "" && s.options.Unchecked == "" && !s.Failed() {
		s.Error("the scenario ends without Calm and without a reason; set Options.Unsettled")
	}
}
