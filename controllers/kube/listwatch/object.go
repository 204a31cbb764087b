// SPDX-License-Identifier: Apache-2.0

package listwatch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Decoder turns the JSON of an object into what is kept of it. The JSON is valid only during the call. An ending watch and the
// next listing may call it at the same time.
type Decoder interface {
	// Object reads an object as it is now.
	Object(data []byte) (Object, error)
	// Deleted reads an object that was deleted.
	Deleted(data []byte) (Object, error)
}

// Object is what is kept of an object. A reflector reads namespace, name and resource version of its metadata, no more.
type Object interface {
	runtime.Object
	metav1.ObjectMetaAccessor
}

// List is a listing, or a page of one. Its items are Objects.
type List struct {
	metav1.ListMeta
	Items []runtime.Object
}

// GetObjectKind implements runtime.Object.
func (l *List) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the list itself, which never changes.
func (l *List) DeepCopyObject() runtime.Object { return l }
