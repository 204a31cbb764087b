package policy

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Namespace is what matters of a Namespace object to what is inside.
type Namespace struct {
	Labels labels.Set
	Held   bool // annotation sunset.x-k8s.io/hold: everything inside is kept
}

// NamespaceOf reads it from an object's metadata. It keeps the labels: they must not change any more.
func NamespaceOf(labels, annotations map[string]string) Namespace {
	value, held := annotations[v1alpha1.HoldAnnotation]
	return Namespace{Labels: labels, Held: held && v1alpha1.IsHold(value)}
}

// Equal reports whether both mean the same.
func (n Namespace) Equal(o Namespace) bool { return n.Held == o.Held && maps.Equal(n.Labels, o.Labels) }
