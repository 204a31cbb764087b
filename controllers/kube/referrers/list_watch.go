// SPDX-License-Identifier: Apache-2.0

package referrers

import (
	"context"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/kube/references"
)

// listWatch is a Collection that reports to its source whether a watch is open.
type listWatch struct {
	*listwatch.Collection
	source   *source
	liveness *watchLiveness
}

// ListWithContext lists all objects.
func (l *listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	l.source.begin()
	ctx, end := l.liveness.begin(ctx)
	defer end()
	return l.Collection.ListWithContext(ctx, options)
}

// WatchWithContext watches. If changes may have been missed since the last listing, it returns an error, so that the reflector
// lists again.
func (l *listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	lists := ptr.Deref(options.SendInitialEvents, false)
	if !lists && !l.source.resumes() {
		return nil, apierrors.NewResourceExpired("changes may have been missed")
	}
	if lists {
		l.source.begin()
	}
	ctx, end := l.liveness.begin(ctx)
	w, err := l.Collection.WatchWithContext(ctx, options)
	if err != nil {
		end()
		return nil, err
	}
	l.liveness.opened(lists)
	if !lists && !l.source.opened() { // it took so long that the references became unknown
		end()
		w.Stop()
		return nil, apierrors.NewResourceExpired("changes may have been missed")
	}
	return &ending{w, end}, nil
}

// ending is a watch that calls end when it is over.
type ending struct {
	watch.Interface
	end func()
}

// Stop implements watch.Interface. The reflector calls it after every watch, for any cause of its end.
func (e *ending) Stop() {
	e.end()
	e.Interface.Stop()
}

// store passes what the reflector sees to a source. It implements cache.ReflectorStore and cache.ReflectorBookmarkStore.
type store struct{ source *source }

func (s store) Add(obj any) error {
	s.source.put(&obj.(*item).Referrer)
	return nil
}

func (s store) Update(obj any) error { return s.Add(obj) }

func (s store) Delete(obj any) error {
	s.source.remove(obj.(*item).UID)
	return nil
}

func (s store) Replace(list []any, _ string) error {
	all := make([]references.Referrer, len(list))
	for i, o := range list {
		all[i] = o.(*item).Referrer
	}
	s.source.replace(all)
	if len(all) >= manyReferrers {
		debug.FreeOSMemory()
	}
	return nil
}

func (s store) Bookmark(string) error {
	s.source.marked()
	return nil
}

func (s store) Resync() error { return nil }

// manyReferrers is the size of a listing after which memory is freed at once.
const manyReferrers = 10_000
