package listwatch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Decoder makes of the JSON of an object what is kept of it. The JSON is valid only during the call. It may be called by an
// ending watch and the next listing at the same time.
type Decoder interface {
	// Object reads an object as it is now.
	Object(data []byte) (Object, error)
	// Deleted reads an object that is gone.
	Deleted(data []byte) (Object, error)
}

// Object is what is left of an object. Nothing is called but GetNamespace, GetName and GetResourceVersion, and what embeds
// Rest has all else.
type Object interface {
	runtime.Object
	metav1.Object
}

// Rest is what an Object must have and nobody asks for.
type Rest struct{ metav1.Object }

// GetAnnotations says that it is not the end of the initial events, which only a bookmark may be.
func (Rest) GetAnnotations() map[string]string { return nil }

// GetObjectKind implements runtime.Object.
func (Rest) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// List is a listing, or a page of one. Its items are Objects.
type List struct {
	metav1.ListMeta
	Items []runtime.Object
}

// GetObjectKind implements runtime.Object.
func (l *List) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject gives the list itself: it never changes.
func (l *List) DeepCopyObject() runtime.Object { return l }
