package policyset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func (l *Reconciler) knowsPolicies(at time.Time) bool {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	return l.live.policies != nil && !slices.ContainsFunc(l.live.policies, func(t time.Time) bool { return !preflight.Fresh(at, t) })
}

// keep sets when the kinds of policies were read; nil for never.
func (f *freshness) keep(policies []time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.policies = policies
}

// readPolicies reads the kinds of policies that are not fresh at a time, and what was edited: of the RetentionPolicies only those of a
// namespace, as those of others are read later. If that fails, neither is: something may be known to have changed.
func (l *Reconciler) readPolicies(ctx context.Context, namespace string, at time.Time) error {
	collections := l.collections()
	came := make([]time.Time, len(collections))
	l.live.mu.Lock()
	copy(came, l.live.policies)
	l.live.mu.Unlock()
	var reads []func() error
	for i, collection := range collections {
		if preflight.Fresh(at, came[i]) {
			continue
		}
		reads = append(reads, func() (err error) {
			came[i], err = l.checkPolicies(ctx, collection, namespace)
			return err
		})
	}
	if err := together(reads...); err != nil {
		l.live.keep(nil)
		return err
	}
	l.live.keep(came)
	return nil
}

// checkPolicies says when its list came.
func (l *Reconciler) checkPolicies(ctx context.Context, on policyCollection, namespace string) (time.Time, error) {
	seen := l.seen(func() string { return on.newest })
	list, err := l.readList(ctx, on.list())
	came := l.Clock.Now()
	if err != nil {
		return came, fmt.Errorf("read %s: %w", on.plural, err)
	}
	if older(list.ResourceVersion, seen) {
		return came, l.startOver()
	}
	if err := l.confirmMissing(ctx, on, list); err != nil {
		return came, err
	}
	now, later := l.unknown(on, list), []*metav1.PartialObjectMetadata(nil)
	if on.kind == v1alpha1.RetentionPolicyKind {
		now, later = partition(now, namespace)
	}
	changed, failed := l.readChanged(ctx, on, now)
	if err := cmp.Or(failed...); err != nil && on.kind == v1alpha1.ClusterRetentionPolicyKind {
		return came, err
	}
	l.takeLivePolicies(on, list, changed)
	if on.kind == v1alpha1.RetentionPolicyKind { // once what was read is in force: a check may be made meanwhile
		l.leaveUnread(ctx, on, now, failed, later)
	}
	return came, nil
}

// readChanged reads policies that a list shows and we do not know, and gives why it cannot read each. One that cannot be read, even if it
// is not found, leaves doubt: what we know of it is outdated, and only a list may end it. A RetentionPolicy leaves doubt about its namespace
// alone, since nothing in it matters elsewhere: whoever creates and deletes some all the time must not stop the deletions of others.
func (l *Reconciler) readChanged(ctx context.Context, on policyCollection, unknown []*metav1.PartialObjectMetadata) (changed []*unstructured.Unstructured, failed []error) {
	objects, failed := make([]*unstructured.Unstructured, len(unknown)), make([]error, len(unknown))
	var reading errgroup.Group
	reading.SetLimit(askedAtOnce)
	for i, item := range unknown {
		reading.Go(func() error {
			object := emptyOf(on.kind)
			err := l.readJSON(ctx, on.path(item), &object.Object)
			if err == nil {
				err = sameName(object, item)
			}
			if err == nil && older(object.GetResourceVersion(), item.ResourceVersion) {
				err = errBehind
			}
			if err != nil {
				failed[i] = fmt.Errorf("read policy %s: %w", keyOf(item), err)
			}
			objects[i] = object
			return nil
		})
	}
	_ = reading.Wait()
	for i := range unknown {
		if failed[i] == nil {
			changed = append(changed, objects[i])
		}
	}
	return changed, failed
}

// seen is how far a history has been seen by now.
func (l *Reconciler) seen(version func() string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return version()
}

// startOver ends the process, as nothing that was seen can be trusted any more.
func (l *Reconciler) startOver() error {
	l.fail(errRewound)
	return errRewound
}

// unknown are the policies of a list that say something new.
func (l *Reconciler) unknown(on policyCollection, list *metav1.PartialObjectMetadataList) (all []*metav1.PartialObjectMetadata) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range list.Items {
		if known, ok := on.get(&list.Items[i]); !ok || !known.says(&list.Items[i]) {
			all = append(all, &list.Items[i])
		}
	}
	return all
}

// takeLivePolicies takes in what a live list shows and we did not know.
func (l *Reconciler) takeLivePolicies(on policyCollection, list *metav1.PartialObjectMetadataList, changed []*unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range changed {
		l.takePolicy(on, object)
	}
	for _, object := range on.confine(uidsOf(list), list.ResourceVersion) {
		l.changes.in(object.GetNamespace())
	}
}
