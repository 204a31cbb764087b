// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Setup registers the reconciler with a manager.
func (l *Reconciler) Setup(mgr ctrl.Manager) error {
	l.failed = make(chan error, 1)
	name, loops := "policies", []manager.RunnableFunc{l.untilFailed, l.followQuotas, l.followClock}
	if l.OnStandby { // facts depend neither on quotas nor on clocks
		name, loops = "policies-on-standby", loops[:1]
	}
	for _, run := range loops {
		if err := mgr.Add(loop{run, !l.OnStandby}); err != nil {
			return err
		}
	}
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(namespaceKind)
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named(name).
		Watches(emptyOf(v1alpha1.ClusterRetentionPolicyKind), everything, builder.WithPredicates(respecified)).
		Watches(emptyOf(v1alpha1.RetentionPolicyKind), everything, builder.WithPredicates(respecified)).
		Watches(emptyOf(v1alpha1.ClusterRetentionApprovalKind), everything).
		Watches(emptyOf(v1alpha1.RetentionApprovalKind), everything).
		WatchesMetadata(namespaces, everything, builder.WithPredicates(predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			NeedLeaderElection:      ptr.To(!l.OnStandby),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, confirmEvery),
		}).
		Complete(l)
}

// loop is a manager.Runnable that runs on every replica, or only on the leader.
type loop struct {
	manager.RunnableFunc
	leads bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (l loop) NeedLeaderElection() bool { return l.leads }

// untilFailed stops the manager when the state in memory can no longer be trusted. A new process reads everything again.
func (l *Reconciler) untilFailed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return err
	}
}

func (l *Reconciler) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}

// respecified passes an update if the spec has changed, the object is being deleted, or it replaces another object of the same
// name.
var respecified = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
		e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
}}
