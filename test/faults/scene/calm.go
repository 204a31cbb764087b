package scene

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// calm is for how long nothing must be disturbed at the end: a little longer than what is due may stay.
const calm = 12 * time.Second

// Quiet says that from now on nothing is disturbed. What is due ten seconds before the end must then be gone by the end, and
// counted.
func (s *Scene) Quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet, s.calmed = time.Now(), true
}

// Calm is the last thing in a scene, when all that disturbs has been lifted: it waits until what is due must be gone, and counted,
// as the verdict then asks. It begins anew when another replica comes to lead. Only make faults takes the time: in make test, and
// when the scene has failed already, it does nothing.
func (s *Scene) Calm() {
	s.Helper()
	s.mu.Lock()
	s.calmed = true
	s.mu.Unlock()
	if !long() || s.Failed() {
		return
	}
	holder, since := s.holder(), time.Now()
	s.Quiet()
	for deadline := since.Add(Patience()); time.Since(since) < calm; time.Sleep(calm / 40) {
		if now := s.holder(); now != holder {
			holder, since = now, time.Now()
			s.Quiet()
		}
		if time.Now().After(deadline) {
			s.Fatal("no replica leads for long enough")
		}
	}
}

// holder is who has written itself into the scene's lease last; empty for nobody.
func (s *Scene) holder() string {
	lease := &coordinationv1.Lease{}
	if s.Get(s.Context(), types.NamespacedName{Namespace: s.Home, Name: leaseName}, lease) != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// restless fails a scene that is judged, and neither has a quiet end nor says why not.
func (s *Scene) restless() {
	s.mu.Lock()
	calmed := s.calmed
	s.mu.Unlock()
	if !calmed && s.options.Unsettled == "" && s.options.Unjudged == "" && !s.Failed() {
		s.Error("it ends without Calm, and does not say why: see Options.Unsettled")
	}
}
