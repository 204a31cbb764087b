// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// bodyOf returns the whole status of a policy for server-side apply, which removes fields that it no longer has. The
// resourceVersion protects a status that another leader has written since then, and the UID another policy of the same name.
func bodyOf(p *policy.Policy, status v1alpha1.RetentionPolicyStatus, version string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       v1alpha1.PolicyKind(p.Namespace).Kind,
		"metadata":   map[string]any{"namespace": p.Namespace, "name": p.ObjectName(), "uid": p.UID, "resourceVersion": version},
		"status":     status,
	})
}

// latestVersion returns the resourceVersion of a policy with the status of its record: that of the cache if the policy was edited and
// the cache has this status, and otherwise that of the record.
func (r *Reporter) latestVersion(ctx context.Context, p *policy.Policy, rec *record) string {
	if !r.isEdited(p) {
		return rec.version
	}
	known, status := objectOf(p)
	cached := &unstructured.Unstructured{} // as the cache holds it
	cached.SetGroupVersionKind(v1alpha1.PolicyKind(p.Namespace))
	if r.Cache.Get(ctx, client.ObjectKeyFromObject(known), cached) != nil || cached.GetUID() != p.UID ||
		runtime.DefaultUnstructuredConverter.FromUnstructured(cached.Object, known) != nil || !equality.Semantic.DeepEqual(*status, rec.status) {
		return rec.version
	}
	return known.GetResourceVersion()
}

// apply sends a status by server-side apply, and returns the new resourceVersion of the policy.
func (r *Reporter) apply(ctx context.Context, p *policy.Policy, body []byte) (version string, err error) {
	object, _ := objectOf(p)
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err = r.Client.Status().Patch(ctx, object, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner("sunset-controller"), client.ForceOwnership)
	return object.GetResourceVersion(), err
}

// applyAgain sends a status after a conflict, unless the status is no longer the one before. The policy itself may have changed.
func (r *Reporter) applyAgain(ctx context.Context, w *write, before v1alpha1.RetentionPolicyStatus) (version string, err error) {
	known, status, err := r.read(ctx, w.policy)
	switch {
	case err != nil:
		return "", err
	case known.GetUID() != w.policy.UID:
		return "", apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group}, w.policy.Name)
	case !equality.Semantic.DeepEqual(*status, before):
		return "", errOverwritten
	}
	body, err := bodyOf(w.policy, w.status, known.GetResourceVersion())
	if err != nil {
		return "", err
	}
	return r.apply(ctx, w.policy, body)
}

// errOverwritten means that something else has written the status of a policy. The next report reads it.
var errOverwritten = errors.New("the status was changed by another client")
