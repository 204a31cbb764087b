package objects

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/references"
	"github.com/sunset-k8s/sunset/policy"
)

// isReferredTo reports whether what refers to objects of a kind is followed.
func isReferredTo(kind schema.GroupVersionKind) bool {
	return kind.Group == "" && (kind.Kind == string(references.ConfigMap) || kind.Kind == string(references.Secret))
}

// used is what changes whenever what refers to an object does.
type used struct {
	count int
	since time.Time
	known bool
}

// uses is what is known to refer to an object; the same for all to which nobody follows references.
func (c *Cluster) uses(t policy.Target) used {
	if c.changes == nil || !isReferredTo(t.Kind) {
		return used{}
	}
	kind := references.Kind(t.Kind.Kind)
	u := c.changes.index.Of(references.Target{Kind: kind, Namespace: t.Namespace, Name: t.Name})
	if u.Doubt != nil || c.changes.index.Paused(kind) != nil {
		return used{}
	}
	return used{u.Count, u.Since, true}
}
