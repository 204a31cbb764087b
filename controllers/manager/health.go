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
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// caches sees to it that every replica watches policies and namespaces, also one that stands by: it shows before it has to lead
// whether it can. It is a manager.Runnable.
type caches struct {
	of     cache.Cache
	clock  clock.Clock
	synced atomic.Bool
}

// cachesAgain is when to ask again for a kind that cannot be watched, as its CustomResourceDefinition is missing.
const cachesAgain = 2 * time.Second

// NeedLeaderElection says that every replica does this.
func (c *caches) NeedLeaderElection() bool { return false }

// Start returns when everything has been read once, or ctx ends.
func (c *caches) Start(ctx context.Context) error {
	for _, kind := range []schema.GroupVersionKind{v1alpha1.ClusterRetentionPolicyKind, v1alpha1.RetentionPolicyKind} {
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

// sync reports whether objects like that one are all there; if not, ctx has ended.
func (c *caches) sync(ctx context.Context, object client.Object) bool {
	for {
		_, err := c.of.GetInformer(ctx, object)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		log.FromContext(ctx).V(1).Info("not watched yet", "kind", object.GetObjectKind().GroupVersionKind().Kind, "err", err.Error())
		select {
		case <-ctx.Done():
		case <-c.clock.After(cachesAgain):
		}
	}
}

// readiness says whether a replica does its part: it leads, or could.
type readiness struct {
	synced   func() bool        // policies and namespaces have been read once
	lock     *lease.TrackedLock // nil without an election
	complete func() bool        // policies and namespaces are in force
	began    func() bool        // what they are about is being listed, or is listed
}

var (
	errUnsynced = errors.New("policies and namespaces have not been read yet")
	errNotTaken = errors.New("this replica leads, and has not read all policies yet")
	errNotBegun = errors.New("this replica leads, and is reading the RetentionLedgers")
)

// check is a healthz.Checker. What a leader can read no longer is in conditions; it stays ready, for nobody else can either.
func (r *readiness) check(*http.Request) error {
	switch {
	case !r.synced():
		return errUnsynced
	case r.lock.Check() != nil:
		return nil // it stands by
	case !r.complete():
		return errNotTaken
	case !r.began():
		return errNotBegun
	}
	return nil
}

// addHealth makes a manager answer whether this replica lives, and does its part.
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
