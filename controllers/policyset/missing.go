package policyset

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
)

// liveCollection is what is known of the objects of a kind, and where the API server has each.
type liveCollection interface {
	lacking(uids map[types.UID]bool, version string) []metav1.Object
	path(object metav1.Object) string
	namespaceOf(object metav1.Object) string // the namespace that it is, or is in
	forget(object metav1.Object)
}

// askedAtOnce bounds the GETs of missing objects that are under way at a time.
const askedAtOnce = 16

// confirmMissing asks for each object that a live list lacks: only the API server's word that there is none makes it gone.
// An empty list is what a server says that has not read its store yet. A namesake says so too, if the list has it or is too old to.
// If not all can be confirmed in time, those that are confirmed are dropped, and the next call asks for the others.
func (l *Reconciler) confirmMissing(ctx context.Context, of liveCollection, list *metav1.PartialObjectMetadataList) error {
	listed := uidsOf(list)
	missing := l.missing(of, listed, list.ResourceVersion)
	failed := make([]error, len(missing))
	var asking errgroup.Group
	asking.SetLimit(askedAtOnce)
	for i, object := range missing {
		asking.Go(func() error {
			failed[i] = l.confirmGone(ctx, of, object, list, listed)
			return nil
		})
	}
	_ = asking.Wait()
	err := cmp.Or(failed...)
	if err == nil {
		return nil // all of them are dropped with the list
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

// confirmGone fails unless a GET by name says that an object is gone.
func (l *Reconciler) confirmGone(ctx context.Context, of liveCollection, missing metav1.Object, list *metav1.PartialObjectMetadataList, listed map[types.UID]bool) error {
	object := &metav1.PartialObjectMetadata{}
	err := l.readMetadata(ctx, of.path(missing), "PartialObjectMetadata", object)
	switch {
	case isAbsent(err, missing.GetName()):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", of.path(missing), err)
	case object.UID == missing.GetUID() || sameName(object, missing) != nil,
		!listed[object.UID] && !newer(object.ResourceVersion, list.ResourceVersion):
		return fmt.Errorf("%s: %w", of.path(missing), errDisagree)
	}
	return nil
}

// failing is since when live reads fail that are to confirm whether objects that a cache lacks are deleted.
type failing struct {
	since time.Time // zero: the last one succeeded, or none was needed
	err   error
}

// confirmCaches reads live unless the caches have all objects that are known (all). A cache that lacks some is behind, or its list was
// incomplete, or the objects were deleted.
func (l *Reconciler) confirmCaches(ctx context.Context, all bool) (reconcile.Result, error) {
	var err error
	if !all {
		if l.confirmedLately() { // however many objects are deleted one after the other
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

// confirmedLately reports whether caches were confirmed a moment ago. Otherwise it notes that they are now.
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

// Trouble is why Sunset cannot delete anything, even if nothing is due: the clocks differ, or policies or namespaces cannot be read. It is
// nil if it can.
func (l *Reconciler) Trouble() error {
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

// missing are the objects that are known and a live list should have, and has not.
func (l *Reconciler) missing(of liveCollection, listed map[types.UID]bool, version string) []metav1.Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	return of.lacking(listed, version)
}
