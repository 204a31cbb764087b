// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
)

// liveCollection is the known objects of a kind, with their paths in the API.
type liveCollection interface {
	lacking(uids map[types.UID]bool, version string) []metav1.Object
	path(object metav1.Object) string
	namespaceOf(object metav1.Object) string // the namespace of the object, or the object itself if it is a namespace
	forget(object metav1.Object)
}

// confirmMissing sends a GET for each object that a live list lacks. An object counts as gone only if the API server responds
// that it does not exist, because a server that has not loaded its store yet returns an empty list. A response with another
// object of the same name counts too, if the list contains that object or is older than it.
//
// If some objects cannot be confirmed in time, the confirmed ones are dropped, and the next call checks the others.
func (l *Reconciler) confirmMissing(ctx context.Context, of liveCollection, list *metav1.PartialObjectMetadataList) error {
	listed := uidsOf(list)
	missing := l.missing(of, listed, list.ResourceVersion)
	failed := each(len(missing), func(i int) error {
		return l.confirmGone(ctx, of.path(missing[i]), missing[i], list, listed)
	})
	err := cmp.Or(failed...)
	if err == nil {
		return nil // the caller drops all of them with the list
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, object := range missing {
		if failed[i] == nil {
			of.forget(object)
			l.changes.in(of.namespaceOf(object))
		}
	}
	return err
}

// confirmGone returns an error unless a GET by name confirms that an object is gone.
func (l *Reconciler) confirmGone(ctx context.Context, path string, missing metav1.Object, list *metav1.PartialObjectMetadataList, listed map[types.UID]bool) error {
	object := &metav1.PartialObjectMetadata{}
	err := l.readMetadata(ctx, path, "PartialObjectMetadata", object)
	switch {
	case isAbsent(err, missing.GetName()):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	case object.UID == missing.GetUID() || sameName(object, missing) != nil,
		!listed[object.UID] && !newer(object.ResourceVersion, list.ResourceVersion):
		return fmt.Errorf("%s: %w", path, errDisagree)
	}
	return nil
}

// failing records since when live reads fail that check whether objects missing from a cache were deleted.
type failing struct {
	since time.Time // zero if the last read succeeded, or none was needed
	err   error
}

// confirmCaches reads live unless the caches contain all known objects (all). If a cache lacks some, it is behind, its list was
// incomplete, or the objects were deleted.
func (l *Reconciler) confirmCaches(ctx context.Context, all bool) (reconcile.Result, error) {
	var err error
	if !all {
		if l.confirmedLately() { // also limits the reads when many objects are deleted one after the other
			return reconcile.Result{RequeueAfter: preflight.MaxAge}, nil
		}
		err = l.confirm(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.failing = failing{}
	case l.failing.err == nil:
		l.failing = failing{l.Clock.Now(), err}
	default:
		l.failing.err = err
	}
	if all || err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: confirmEvery}, nil
}

// confirmedLately reports whether the caches were confirmed within preflight.MaxAge. Otherwise it records the current time.
func (l *Reconciler) confirmedLately() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.Clock.Now()
	if preflight.Fresh(now, l.confirmed) {
		return true
	}
	l.confirmed = now
	return false
}

// DeletionError returns why Sunset cannot delete anything, even if nothing is due: the clocks differ, or policies or namespaces
// cannot be read. It is nil if Sunset can delete.
func (l *Reconciler) DeletionError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.skewed != nil:
		return l.skewed
	case l.Clock.Now().Sub(l.failing.since) >= confirmEvery: // right after a change a cache and the API server may differ
		return l.failing.err
	default:
		return nil
	}
}

// missing returns the known objects that a live list should contain but lacks.
func (l *Reconciler) missing(of liveCollection, listed map[types.UID]bool, version string) []metav1.Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	return of.lacking(listed, version)
}
