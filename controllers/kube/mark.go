// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

var errNoPatch = errors.New("internal error: mark without a permit")

// Mark implements retention.Marker. It sends one PATCH of an annotation. The API server refuses it unless the object has exactly
// the UID and resourceVersion in m.
func (c *Cluster) Mark(ctx context.Context, kind schema.GroupVersionKind, m policy.EligibleSincePatch, since time.Time) retention.Outcome {
	if !m.Valid() {
		return retention.Outcome{Result: retention.Refused, Err: errNoPatch, Unsent: true}
	}
	body, err := json.Marshal(patchOf(m))
	if err != nil {
		return retention.Outcome{Err: err, Unsent: true}
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return retention.Outcome{Err: err, Unsent: true}
	}
	o := c.send(ctx, mapping, policy.TargetOf(kind, m.Subject()),
		request{method: http.MethodPatch, contentType: "application/merge-patch+json", body: body, since: since})
	if o.Result == retention.Removed {
		o.Result = retention.Marked
	}
	return o
}

// patchOf returns the patch that sets or removes the annotation. The API server compares the UID and resourceVersion.
func patchOf(m policy.EligibleSincePatch) map[string]any {
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
