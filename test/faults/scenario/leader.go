// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/proxy"
)

// leaseName is the name of the Lease in Sunset's own namespace.
const leaseName = "sunset-controller"

// Leader waits until a running replica holds the scenario's lease, and returns that replica.
func (s *Scenario) Leader() (leads *Replica) {
	s.Helper()
	s.Eventually(func() (err error) {
		leads, err = s.leader()
		return err
	})
	return leads
}

func (s *Scenario) leader() (*Replica, error) {
	lease := &coordinationv1.Lease{}
	if err := s.Get(s.Context(), types.NamespacedName{Namespace: s.Home, Name: leaseName}, lease); err != nil {
		return nil, err
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" {
		return nil, errors.New("the lease has no holder")
	}
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	if renewed := lease.Spec.RenewTime; renewed == nil || time.Since(renewed.Time) > lasts {
		return nil, fmt.Errorf("the lease of %s has expired", holder)
	}
	for _, r := range s.all() {
		if r.awake() && r.wrote(holder) {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the lease holder %s is not a running replica", holder)
}

func (s *Scenario) all() []*Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Replica(nil), s.replicas...)
}

// awake reports whether the process runs and is not suspended.
func (r *Replica) awake() bool {
	if !r.Running() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.lives[len(r.lives)-1].stands()
}

// wrote reports whether the replica has written a name into the lease since its last start.
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

// leases returns the replica's writes of the lease that the API server accepted.
func (r *Replica) leases() (written []proxy.Entry) {
	for _, e := range r.Proxy.Journal() {
		if e.Resource == "leases" && (e.Verb == "update" || e.Verb == "create") && e.Answered >= 200 && e.Answered < 300 {
			written = append(written, e)
		}
	}
	return written
}
