// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func (l *Reconciler) knowsPolicies(at time.Time) bool {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	return l.live.policies != nil && !slices.ContainsFunc(l.live.policies, func(t time.Time) bool { return !preflight.Fresh(at, t) })
}

// keep sets when each kind of policy was read; nil for never.
func (f *freshness) keep(policies []time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.policies = policies
}

// readPolicies reads the kinds of policies that are not fresh at a time, and the policies that were edited. Of edited
// RetentionPolicies it reads only those of a namespace, and the others later. If a read fails, no kind counts as read, because
// a list may have shown a change that is not known yet.
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

// checkPolicies reads one kind of policies and their approvals, and returns when the first of the two lists arrived.
func (l *Reconciler) checkPolicies(ctx context.Context, on policyCollection, namespace string) (came time.Time, err error) {
	seen := l.seen(func() string { return on.newest })
	var list *metav1.PartialObjectMetadataList
	var listed sets.Set[types.UID]
	var arrived [2]time.Time
	err = together(
		func() (err error) {
			if list, err = l.readList(ctx, on.list()); err != nil {
				err = fmt.Errorf("read %s: %w", on.plural, err)
			}
			arrived[0] = l.Clock.Now()
			return err
		},
		func() (err error) {
			listed, err = l.listApprovals(ctx, on)
			arrived[1] = l.Clock.Now()
			return err
		},
	)
	came = slices.MinFunc(arrived[:], time.Time.Compare)
	if err != nil {
		return came, err
	}
	if older(list.ResourceVersion, seen) {
		return came, l.startOver()
	}
	if err := l.confirmMissing(ctx, on, list); err != nil {
		return came, err
	}
	now, later := l.unknown(on, list, listed), []*metav1.PartialObjectMetadata(nil)
	if on.kind == v1alpha1.RetentionPolicyKind {
		now, later = partition(now, namespace)
	}
	changed, failed := l.readChanged(ctx, on, now)
	if err := cmp.Or(failed...); err != nil && on.kind == v1alpha1.ClusterRetentionPolicyKind {
		return came, err
	}
	l.takeLivePolicies(on, list, changed)
	if on.kind == v1alpha1.RetentionPolicyKind { // after the policies that were read are stored: a check may run in between
		l.leaveUnread(ctx, on, now, failed, later)
	}
	return came, nil
}

// readChanged reads the policies of a list whose listed versions are not known. failed holds the error of each read. If a read
// fails, even with NotFound, the known version is out of date, and only a list can settle that.
//
// A RetentionPolicy that cannot be read stops deletions only in its own namespace, because it has no effect elsewhere.
// Otherwise a user who keeps creating and deleting policies could stop the deletions of other users.
func (l *Reconciler) readChanged(ctx context.Context, on policyCollection, unknown []*metav1.PartialObjectMetadata) (changed []*unstructured.Unstructured, failed []error) {
	changed = make([]*unstructured.Unstructured, len(unknown))
	failed = each(len(unknown), func(i int) error {
		item, object := unknown[i], emptyOf(on.kind)
		err := l.readJSON(ctx, on.path(item), &object.Object)
		if err == nil {
			err = sameName(object, item)
		}
		if err == nil && older(object.GetResourceVersion(), item.ResourceVersion) {
			err = errBehind
		}
		if err != nil {
			return fmt.Errorf("read policy %s: %w", keyOf(item), err)
		}
		changed[i] = object
		return nil
	})
	return slices.DeleteFunc(changed, func(o *unstructured.Unstructured) bool { return o == nil }), failed
}

// seen returns the resourceVersion up to which the history has been observed.
func (l *Reconciler) seen(version func() string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return version()
}

// startOver stops the process, because the state in memory can no longer be trusted.
func (l *Reconciler) startOver() error {
	l.fail(errRewound)
	return errRewound
}

// unknown returns the policies of a list that are new, were edited, or have other approvals now that these are listed.
func (l *Reconciler) unknown(on policyCollection, list *metav1.PartialObjectMetadataList, listed sets.Set[types.UID]) (all []*metav1.PartialObjectMetadata) {
	l.mu.Lock()
	defer l.mu.Unlock()
	on.approvals.listed = listed
	for i := range list.Items {
		if known, ok := on.get(&list.Items[i]); !ok || !on.includes(known, &list.Items[i], l.Clock.Now()) {
			all = append(all, &list.Items[i])
		}
	}
	return all
}

// takeLivePolicies stores the changes that a live list shows, and drops the policies that it lacks.
func (l *Reconciler) takeLivePolicies(on policyCollection, list *metav1.PartialObjectMetadataList, changed []*unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range changed {
		l.takeLivePolicy(on, object)
	}
	for _, object := range on.dropLacking(uidsOf(list), list.ResourceVersion) {
		l.changes.in(object.GetNamespace())
	}
}

// takeLivePolicy stores a policy from a live read if it is new, was edited, or has other approvals. The status that it shows is
// not older than the approvals.
func (l *Reconciler) takeLivePolicy(on policyCollection, object *unstructured.Unstructured) {
	l.takePolicy(on, object)
	known, ok := on.get(object)
	if ok && !on.includes(known, object, l.Clock.Now()) && !older(object.GetResourceVersion(), on.versionOf(keyOf(object))) {
		l.edit(on, object)
	}
}
