package objects

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

var errNoMarking = errors.New("nothing is written without a marking")

// Mark implements retention.Remover: one PATCH of an annotation that the API server refuses unless the object is exactly
// the version the marking names.
func (c *Cluster) Mark(ctx context.Context, kind schema.GroupVersionKind, m policy.Marking) retention.Outcome {
	if !m.Valid() {
		return retention.Outcome{Result: retention.Refused, Err: errNoMarking}
	}
	body, err := json.Marshal(patchOf(m))
	if err != nil {
		return retention.Outcome{Err: err}
	}
	o := c.send(ctx, http.MethodPatch, policy.TargetOf(kind, m.Subject()), "application/merge-patch+json", body)
	if o.Result == retention.Removed {
		o.Result = retention.Marked
	}
	return o
}

// patchOf writes the annotation, or removes it. UID and resourceVersion are what the API server compares.
func patchOf(m policy.Marking) map[string]any {
	var value any
	if text := m.Annotation(); text != "" {
		value = text
	}
	return map[string]any{"metadata": map[string]any{
		"uid":             m.Subject().UID,
		"resourceVersion": m.Subject().ResourceVersion,
		"annotations":     map[string]any{v1alpha1.EligibleSinceAnnotation: value},
	}}
}
