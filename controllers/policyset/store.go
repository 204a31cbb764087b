package policyset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// store is what has been seen of objects that come from a cache, which may lag, and from live reads, which come now and
// then: of two views of an object the newer one stays.
type store[T any] struct {
	all     map[string]*storedVersion[T] // by keyOf
	horizon string                       // resourceVersion of the newest complete live list; what it lacks and is not newer is gone
	newest  string                       // resourceVersion of the newest view of anything here
}

// storedVersion is one object as last seen.
type storedVersion[T any] struct {
	uid     types.UID
	version string // resourceVersion
	value   T
}

// keyOf names an object among those of its kind.
func keyOf(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// get gives what is known of exactly this object, not of a namesake.
func (k *store[T]) get(object metav1.Object) (value T, ok bool) {
	if s := k.all[keyOf(object)]; s != nil && s.uid == object.GetUID() {
		return s.value, true
	}
	return value, false
}

// accept reports whether a view of an object is news: not older than what is known.
func (k *store[T]) accept(object metav1.Object) bool {
	s := k.all[keyOf(object)]
	return s == nil || newer(object.GetResourceVersion(), s.version)
}

// gone reports whether a live list has shown that what a cache has is gone. It says nothing of a live view, which is later than
// the list: what that list lacked by mistake is there.
func (k *store[T]) gone(object metav1.Object) bool {
	return k.all[keyOf(object)] == nil && k.horizon != "" && !newer(object.GetResourceVersion(), k.horizon)
}

// put records a view that was accepted.
func (k *store[T]) put(object metav1.Object, value T) {
	if k.all == nil {
		k.all = map[string]*storedVersion[T]{}
	}
	k.all[keyOf(object)] = &storedVersion[T]{uid: object.GetUID(), version: object.GetResourceVersion(), value: value}
}

// allIn reports whether a complete reading of the cache has everything that is known. What it lacks may be deleted, or the
// cache may have relisted from a server that has not read all of its store: only a GET by name tells.
func (k *store[T]) allIn(uids map[types.UID]bool) bool {
	for _, s := range k.all {
		if !uids[s.uid] {
			return false
		}
	}
	return true
}

// forget drops exactly this object, which a GET by name did not find.
func (k *store[T]) forget(object metav1.Object) {
	if s := k.all[keyOf(object)]; s != nil && s.uid == object.GetUID() {
		delete(k.all, keyOf(object))
	}
}

// saw notes how far the history is that was seen.
func (k *store[T]) saw(version string) {
	if k.newest == "" || older(k.newest, version) {
		k.newest = version
	}
}

// versionOf is the version of an object that is known by name; empty for none.
func (k *store[T]) versionOf(key string) string {
	if s := k.all[key]; s != nil {
		return s.version
	}
	return ""
}

// confine drops what a complete live list of a resourceVersion does not have, unless it is newer than the list, and returns it.
func (k *store[T]) confine(uids map[types.UID]bool, version string) []metav1.Object {
	k.horizon = version
	k.saw(version)
	lacking := k.lacking(uids, version)
	for _, object := range lacking {
		delete(k.all, keyOf(object))
	}
	return lacking
}

// lacking is what a complete live list of a resourceVersion should have, and has not.
func (k *store[T]) lacking(uids map[types.UID]bool, version string) []metav1.Object {
	var all []metav1.Object
	for key, s := range k.all {
		if !uids[s.uid] && !newer(s.version, version) {
			namespace, name, _ := cache.SplitMetaNamespaceKey(key)
			all = append(all, &metav1.ObjectMeta{Namespace: namespace, Name: name, UID: s.uid})
		}
	}
	return all
}

// newer compares resourceVersions. What cannot be compared counts as newer: it is looked at again.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// older compares resourceVersions. A live answer that is older than what was seen before it was asked for says that the API
// server's store was put back to an earlier state: nothing that was seen can be ordered with what is seen from then on.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
