package scene

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/gate"
)

// leaseName is that of the Lease in Sunset's own namespace.
const leaseName = "sunset-controller"

// Leader waits until one of the replicas that run holds the scene's lease, and gives it.
func (s *Scene) Leader() (leads *Replica) {
	s.Helper()
	s.Eventually(func() (err error) {
		leads, err = s.leader()
		return err
	})
	return leads
}

func (s *Scene) leader() (*Replica, error) {
	lease := &coordinationv1.Lease{}
	if err := s.Get(s.Context(), types.NamespacedName{Namespace: s.Home, Name: leaseName}, lease); err != nil {
		return nil, err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" {
		return nil, errors.New("nobody holds the lease")
	}
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	if renewed := lease.Spec.RenewTime; renewed == nil || time.Since(renewed.Time) > lasts {
		return nil, fmt.Errorf("%s has let the lease expire", holder)
	}
	for _, r := range s.all() {
		if r.awake() && r.wrote(holder) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s, which holds the lease, is no replica that runs", holder)
}

func (s *Scene) all() []*Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Replica(nil), s.replicas...)
}

// awake tells whether the process lives and does not stand still.
func (r *Replica) awake() bool {
	if !r.Running() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.lives[len(r.lives)-1].stands()
}

// wrote tells whether the replica has written itself into the lease under a name, since it was started last.
func (r *Replica) wrote(holder string) bool {
	r.mu.Lock()
	from := r.lives[len(r.lives)-1].from
	r.mu.Unlock()
	for _, e := range r.leases() {
		if e.At.After(from) && bytes.Contains(e.Body, []byte(holder)) {
			return true
		}
	}
	return false
}

// leases are the writes of the lease that the API server has taken from the replica.
func (r *Replica) leases() (written []gate.Entry) {
	for _, e := range r.Gate.Journal() {
		if e.Resource == "leases" && (e.Verb == "update" || e.Verb == "create") && e.Answered >= 200 && e.Answered < 300 {
			written = append(written, e)
		}
	}
	return written
}
