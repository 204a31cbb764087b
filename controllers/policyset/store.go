// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// store holds the versions of objects that were observed in a cache, which may lag, and in live reads, which are rare. Of two
// versions of an object it keeps the newer one.
type store[T any] struct {
	all         map[string]*storedVersion[T] // by keyOf
	listVersion string                       // resourceVersion of the newest complete live list; objects that it lacks are gone unless newer
	newest      string                       // newest resourceVersion that was observed
}

// storedVersion is the last observed version of one object.
type storedVersion[T any] struct {
	uid     types.UID
	version string // resourceVersion
	value   T
}

// keyOf returns the key of an object among those of its kind.
func keyOf(object metav1.Object) string { return cache.MetaObjectToName(object).String() }

// get returns the value of exactly this object, not of another object of the same name.
func (k *store[T]) get(object metav1.Object) (value T, ok bool) {
	if s := k.all[keyOf(object)]; s != nil && s.uid == object.GetUID() {
		return s.value, true
	}
	return value, false
}

// accept reports whether a version of an object is newer than the stored one.
func (k *store[T]) accept(object metav1.Object) bool {
	s := k.all[keyOf(object)]
	return s == nil || newer(object.GetResourceVersion(), s.version)
}

// gone reports whether a live list has shown that an object in a cache no longer exists. It does not apply to live reads, which
// are later than the list: an object that such a read returns exists, even if the list lacked it.
func (k *store[T]) gone(object metav1.Object) bool {
	return k.all[keyOf(object)] == nil && k.listVersion != "" && !newer(object.GetResourceVersion(), k.listVersion)
}

// put stores a version that was accepted.
func (k *store[T]) put(object metav1.Object, value T) {
	if k.all == nil {
		k.all = map[string]*storedVersion[T]{}
	}
	k.all[keyOf(object)] = &storedVersion[T]{uid: object.GetUID(), version: object.GetResourceVersion(), value: value}
}

// allIn reports whether a complete list from the cache contains all known objects. An object that it lacks may be deleted, or
// the cache may have relisted from a server that has not loaded all of its store. Only a GET by name distinguishes these cases.
func (k *store[T]) allIn(uids map[types.UID]bool) bool {
	for _, s := range k.all {
		if !uids[s.uid] {
			return false
		}
	}
	return true
}

// forget drops exactly this object, after a GET by name has not found it.
func (k *store[T]) forget(object metav1.Object) {
	if s := k.all[keyOf(object)]; s != nil && s.uid == object.GetUID() {
		delete(k.all, keyOf(object))
	}
}

// noteVersion records a resourceVersion that was observed.
func (k *store[T]) noteVersion(version string) {
	if k.newest == "" || older(k.newest, version) {
		k.newest = version
	}
}

// versionOf returns the resourceVersion of a known object by its key; empty for none.
func (k *store[T]) versionOf(key string) string {
	if s := k.all[key]; s != nil {
		return s.version
	}
	return ""
}

// dropLacking drops the objects that a complete live list at a resourceVersion lacks, unless they are newer than the list, and
// returns them.
func (k *store[T]) dropLacking(uids map[types.UID]bool, version string) []metav1.Object {
	k.listVersion = version
	k.noteVersion(version)
	lacking := k.lacking(uids, version)
	for _, object := range lacking {
		delete(k.all, keyOf(object))
	}
	return lacking
}

// lacking returns the objects that a complete live list at a resourceVersion should contain but lacks.
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

// newer compares resourceVersions. A version that cannot be compared counts as newer, so that it is processed again.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// older compares resourceVersions. A live response that is older than a version observed before the request shows that the
// store of the API server was restored to an earlier state. Then earlier and later observations cannot be ordered.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
