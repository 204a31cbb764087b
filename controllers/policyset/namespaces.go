// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention/preflight"
	"github.com/sunset-k8s/sunset/policy"
)

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// manyNamespaces is how many namespaces are read one by one in a second. If there are more, one list reads all of them.
const manyNamespaces = 16

// namespaces is the known namespaces, with their paths in the API.
type namespaces struct{ *store[policy.Namespace] }

func (namespaces) path(o metav1.Object) string { return namespacesPath + "/" + o.GetName() }

func (namespaces) namespaceOf(o metav1.Object) string { return o.GetName() }

// liveResult is the result of a live read of one namespace.
type liveResult struct {
	at   time.Time
	took time.Duration // duration of a GET; 0 for a list of all
	err  error         // wraps preflight.ErrNamespace; nil when objects there may be deleted
}

// readNamespaces reads a namespace, or all of them if many are needed.
func (l *Reconciler) readNamespaces(ctx context.Context, name string) error {
	if l.readsOneByOne() {
		return l.readNamespace(ctx, name)
	}
	return l.readAllNamespaces(ctx)
}

// readsOneByOne reports whether the reads of namespaces in the last second were few and fast.
func (l *Reconciler) readsOneByOne() bool {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	maps.DeleteFunc(l.live.namespaces, func(_ string, a liveResult) bool { return !l.fresh(a.at) })
	took := time.Duration(0)
	for _, a := range l.live.namespaces {
		took += a.took
	}
	return len(l.live.namespaces) < manyNamespaces && took < preflight.MaxAge/10
}

// answered reports whether the latest live read of the namespace counts at a time. It is true for "".
func (l *Reconciler) answered(name string, at time.Time) bool {
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	return name == "" || preflight.Fresh(at, l.live.namespaceRead(name))
}

func (l *Reconciler) readNamespace(ctx context.Context, name string) error {
	began := l.Clock.Now()
	seen := l.seen(func() string { return l.namespaces.versionOf(name) })
	item := &metav1.PartialObjectMetadata{}
	err := l.readMetadata(ctx, namespacesPath+"/"+name, "PartialObjectMetadata", item)
	if err == nil {
		err = sameName(item, &metav1.ObjectMeta{Name: name})
	}
	a := liveResult{}
	switch {
	case apierrors.IsNotFound(err):
		a.err = fmt.Errorf("%w: %s does not exist", preflight.ErrNamespace, name)
	case err != nil:
		return fmt.Errorf("read namespace %s: %w", name, err)
	case older(item.ResourceVersion, seen):
		return l.startOver()
	case item.DeletionTimestamp != nil:
		a.err = terminating(name)
	default:
		l.takeLiveNamespaces([]metav1.PartialObjectMetadata{*item}, nil)
	}
	a.at = l.Clock.Now()
	a.took = a.at.Sub(began)
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	if l.live.namespaces == nil {
		l.live.namespaces = map[string]liveResult{}
	}
	l.live.namespaces[name] = a
	return nil
}

func (l *Reconciler) readAllNamespaces(ctx context.Context) error {
	seen := l.seen(func() string { return l.namespaces.newest })
	list, err := l.readList(ctx, namespacesPath)
	came := l.Clock.Now()
	if err != nil {
		return fmt.Errorf("read namespaces: %w", err)
	}
	if older(list.ResourceVersion, seen) {
		return l.startOver()
	}
	if err := l.confirmMissing(ctx, namespaces{&l.namespaces}, list); err != nil {
		return err
	}
	l.takeLiveNamespaces(list.Items, list)
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	l.live.everything = came
	l.live.namespaces = map[string]liveResult{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			l.live.namespaces[list.Items[i].Name] = liveResult{at: came, err: terminating(list.Items[i].Name)}
		}
	}
	return nil
}

// takeLiveNamespaces stores changed labels and holds. complete is the list if the items are all that exist; nil otherwise.
func (l *Reconciler) takeLiveNamespaces(items []metav1.PartialObjectMetadata, complete *metav1.PartialObjectMetadataList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range items {
		l.takeNamespace(&items[i])
	}
	if complete == nil {
		return
	}
	for _, object := range l.namespaces.dropLacking(uidsOf(complete), complete.ResourceVersion) {
		l.changes.in(object.GetName())
	}
}

// existing returns an error if the namespace was not in a complete list.
func (l *Reconciler) existing(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.namespaces.all[name] == nil {
		return fmt.Errorf("%w: %s does not exist", preflight.ErrNamespace, name)
	}
	return nil
}

// terminating is the error for a namespace in which nothing is deleted, because it is terminating itself.
func terminating(namespace string) error {
	return fmt.Errorf("%w: %s is terminating; its conditions say what delays that", preflight.ErrNamespace, namespace)
}
