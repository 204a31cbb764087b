// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
)

// unread is a RetentionPolicy with an edit that the latest list shows and that has not been read. Nothing is deleted in its
// namespace.
type unread struct {
	item *metav1.PartialObjectMetadata
	err  error
}

// partition separates the policies of a namespace from others.
func partition(all []*metav1.PartialObjectMetadata, namespace string) (own, others []*metav1.PartialObjectMetadata) {
	for _, o := range all {
		if o.Namespace == namespace {
			own = append(own, o)
		} else {
			others = append(others, o)
		}
	}
	return own, others
}

// leaveUnread records the policies that could not be read, and those to read later. It reads the latter in the background, so
// that checks of other namespaces do not wait. The caller holds live.reading.
func (l *Reconciler) leaveUnread(ctx context.Context, on policyCollection, now []*metav1.PartialObjectMetadata, failed []error, later []*metav1.PartialObjectMetadata) {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	l.live.unread = map[string][]unread{}
	for i, o := range now {
		if failed[i] != nil {
			l.live.leave(o, failed[i])
		}
	}
	var start []*metav1.PartialObjectMetadata
	for _, o := range later {
		l.live.leave(o, fmt.Errorf("%w: %s", errCompiling, keyOf(o)))
		if !l.live.later.Has(o.UID) {
			start = append(start, o)
		}
	}
	if len(start) == 0 {
		return
	}
	if l.live.later == nil {
		l.live.later = sets.New[types.UID]()
	}
	for _, o := range start {
		l.live.later.Insert(o.UID)
	}
	go l.readLater(context.WithoutCancel(ctx), on, start)
}

func (f *freshness) leave(o *metav1.PartialObjectMetadata, err error) {
	f.unread[o.Namespace] = append(f.unread[o.Namespace], unread{o, fmt.Errorf("%w: %w", preflight.ErrNamespace, err)})
}

// readLater reads edited policies, and stores those that the latest list still shows.
func (l *Reconciler) readLater(ctx context.Context, on policyCollection, edited []*metav1.PartialObjectMetadata) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	changed, failed := l.readChanged(ctx, on, edited)
	l.live.reading.Lock() // no other list is read during this
	defer l.live.reading.Unlock()
	shown := l.live.shown()
	l.mu.Lock()
	for _, object := range changed {
		if shown.Has(object.GetUID()) {
			l.takeLivePolicy(on, object)
		}
	}
	l.mu.Unlock()
	l.endUnread(on, edited, failed)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compiling.changed.Send()
}

// shown returns the UIDs of policies that the latest list shows as edited, and that have not been read.
func (f *freshness) shown() sets.Set[types.UID] {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := sets.New[types.UID]()
	for _, unread := range f.unread {
		for _, u := range unread {
			all.Insert(u.item.UID)
		}
	}
	return all
}

// endUnread removes the policies whose listed versions are known by now, and records why others could not be read.
func (l *Reconciler) endUnread(on policyCollection, edited []*metav1.PartialObjectMetadata, failed []error) {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	for i, o := range edited {
		l.live.later.Delete(o.UID)
		left := slices.DeleteFunc(l.live.unread[o.Namespace], func(u unread) bool { return u.item.UID == o.UID && l.knows(on, u.item) })
		for k := range left {
			if left[k].item.UID == o.UID && failed[i] != nil {
				left[k].err = fmt.Errorf("%w: %w", preflight.ErrNamespace, failed[i])
			}
		}
		if l.live.unread[o.Namespace] = left; len(left) == 0 {
			delete(l.live.unread, o.Namespace)
		}
	}
}

// lacksAny reports whether the read of an edited policy has failed. The cache does not help: its version may be older than the
// list.
func (f *freshness) lacksAny() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, all := range f.unread {
		if slices.ContainsFunc(all, func(u unread) bool { return !errors.Is(u.err, errCompiling) }) {
			return true
		}
	}
	return false
}

// unreadIn returns why nothing may be deleted in a namespace with edited policies that have not been read; nil if there are
// none.
func (l *Reconciler) unreadIn(namespace string) error {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	return l.live.unreadIn(namespace)
}

func (f *freshness) unreadIn(namespace string) error {
	if all := f.unread[namespace]; len(all) > 0 {
		return all[0].err
	}
	return nil
}

// knows reports whether the listed version of a policy is known.
func (l *Reconciler) knows(on policyCollection, item *metav1.PartialObjectMetadata) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := on.get(item)
	return ok && on.includes(known, item, l.Clock.Now())
}
