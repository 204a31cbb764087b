// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Namespace has the properties of a Namespace object that affect the objects in it.
type Namespace struct {
	Labels labels.Set
	Held   bool // annotation sunset-k8s.io/hold: all objects in it are kept
	// Quotas is how many objects its ResourceQuotas allow, by resource as in "jobs.batch": the minimum for each. Nil if they are
	// unknown.
	Quotas map[string]int64
}

// NamespaceOf reads a Namespace from an object's metadata. It keeps the labels, which must not change afterwards.
func NamespaceOf(labels, annotations map[string]string) Namespace {
	value, held := annotations[v1alpha1.HoldAnnotation]
	return Namespace{Labels: labels, Held: held && v1alpha1.IsHold(value)}
}

// Equal reports whether both are equal.
func (n Namespace) Equal(o Namespace) bool {
	return n.Held == o.Held && maps.Equal(n.Labels, o.Labels) && maps.Equal(n.Quotas, o.Quotas)
}

// quota is how many objects of a kind may exist in the namespace; ok is false if no quota counts them.
func (n Namespace) quota(kind schema.GroupVersionKind) (objects int64, ok bool) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	objects, ok = n.Quotas[plural.GroupResource().String()]
	return objects, ok
}

// countedByName are the resources that a quota can count by their own name, without "count/".
var countedByName = []string{
	"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims",
}

// AddQuota adds the object counts of a ResourceQuota's spec.hard, count/RESOURCE.GROUP, to the known quotas of a namespace: the
// minimum for each. It returns the map, as append does; never nil. Do not add a ResourceQuota with scopes, because it does not
// limit all objects.
func AddQuota[K ~string](known map[string]int64, hard map[K]resource.Quantity) map[string]int64 {
	if known == nil {
		known = map[string]int64{}
	}
	for name, quantity := range hard {
		of, counted := strings.CutPrefix(string(name), "count/")
		if !counted && !slices.Contains(countedByName, of) {
			continue
		}
		objects, ok := objectsIn(quantity)
		if least, limited := known[of]; ok && (!limited || objects < least) {
			known[of] = objects
		}
	}
	return known
}

// objectsIn is how many objects a quantity allows. A fraction is rounded up. A quantity above the maximum int64 gives the
// maximum; Quantity.Value would give 0 for 1e30. ok is false for a negative quantity, which limits nothing: the API server
// rejects it.
func objectsIn(q resource.Quantity) (objects int64, ok bool) {
	switch digits := q.AsDec(); {
	case digits.Sign() <= 0:
		return 0, digits.Sign() == 0
	case digits.Scale() < -18, // at least 1e19; to compare 1e999999999 would take minutes
		q.CmpInt64(math.MaxInt64) >= 0:
		return math.MaxInt64, true
	default:
		return q.Value(), true
	}
}
