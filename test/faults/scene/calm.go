package scene

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// calm is for how long nothing must be disturbed at the end: a little longer than what is due may stay.
const calm = 12 * time.Second

// busyAfter is how much longer than usual a look at the lease takes where the machine is too busy to say that something is late.
const busyAfter = 700 * time.Millisecond

// Quiet says that from now on nothing is disturbed. What is due ten seconds before the end must then be gone by the end, and
// counted.
func (s *Scene) Quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet, s.calmed = time.Now(), true
}

// Calm is the last thing in a scene, when all that disturbs has been lifted: it waits until what is due must be gone, and counted,
// as the verdict then asks. It begins again when another replica comes to lead, and when the machine is so busy that a look at the
// lease takes long: a replica has no more of it. A machine that is busy all the time leaves that verdict out. Only make faults takes
// the time: in make test, and when the scene has failed already, Calm does nothing.
func (s *Scene) Calm() {
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
