// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/process/lease"
	"github.com/sunset-k8s/sunset/controllers/process/liveness"
	"github.com/sunset-k8s/sunset/controllers/process/wake"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// caches starts the informers of policies, approvals and namespaces on every replica, also on a standby. So a standby shows
// before it becomes the leader whether it can read them. It is a manager.Runnable.
type caches struct {
	of     cache.Cache
	clock  clock.Clock
	synced atomic.Bool
}

// cachesAgain is the delay between attempts to watch a kind, for example while its CustomResourceDefinition is missing.
const cachesAgain = 2 * time.Second

// NeedLeaderElection returns false: every replica starts the informers.
func (c *caches) NeedLeaderElection() bool { return false }

// Start returns when all informers have synced, or ctx ends.
func (c *caches) Start(ctx context.Context) error {
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.ClusterRetentionPolicyKind, v1alpha1.RetentionPolicyKind, v1alpha1.ClusterRetentionApprovalKind, v1alpha1.RetentionApprovalKind,
	} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		if !c.sync(ctx, object) {
			return nil
		}
	}
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	c.synced.Store(c.sync(ctx, namespaces))
	return nil
}

// sync waits until the informer of a kind has synced. It returns false if ctx ends first.
func (c *caches) sync(ctx context.Context, object client.Object) bool {
	for {
		_, err := c.of.GetInformer(ctx, object)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		log.FromContext(ctx).V(1).Info("not watched yet", "kind", object.GetObjectKind().GroupVersionKind().Kind, "err", err.Error())
		wake.Sleep(ctx, c.clock, cachesAgain)
	}
}

// readiness says whether a replica works as the leader, or could become the leader.
type readiness struct {
	synced   func() bool        // policies and namespaces have been read once
	lock     *lease.TrackedLock // nil without leader election
	complete func() bool        // policies and namespaces are in force
	began    func() bool        // the targeted kinds are being listed, or have been listed
}

var (
	errUnsynced = errors.New("policies and namespaces have not been read yet")
	errNotTaken = errors.New("this replica is the leader, but has not read all policies yet")
	errNotBegun = errors.New("this replica is the leader, but is still reading the RetentionLedgers")
)

// check is a healthz.Checker. If a leader can no longer read a kind, conditions say so. The leader stays ready, because another
// replica could not read the kind either.
func (r *readiness) check(*http.Request) error {
	switch {
	case !r.synced():
		return errUnsynced
	case r.lock.Check() != nil:
		return nil // a standby
	case !r.complete():
		return errNotTaken
	case !r.began():
		return errNotBegun
	}
	return nil
}

// addHealth adds the liveness and readiness checks of this replica to a manager.
func (c *Config) addHealth(mgr manager.Manager, ready *readiness, pulses ...*liveness.Heartbeat) error {
	known := &caches{of: mgr.GetCache(), clock: c.Clock}
	ready.synced = known.synced.Load
	if err := mgr.Add(known); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("sunset", ready.check); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	for _, p := range pulses {
		if err := mgr.AddHealthzCheck(p.Name(), p.Check); err != nil {
			return err
		}
	}
	return nil
}
