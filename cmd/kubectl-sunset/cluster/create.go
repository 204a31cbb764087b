// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ApprovalKind returns the kind of the approvals of a namespace, or of the cluster if namespace is empty.
func ApprovalKind(namespace string) Kind {
	if namespace == "" {
		return ownKind(v1alpha1.ClusterRetentionApprovalKind, "clusterretentionapprovals", false)
	}
	return ownKind(v1alpha1.RetentionApprovalKind, "retentionapprovals", true)
}

// Create creates an object, and returns it as the API server does. With dryRun, the API server only checks it, and
// rejects unknown fields.
func (c *Cluster) Create(ctx context.Context, kind Kind, object map[string]any, dryRun bool) (map[string]any, error) {
	o := &unstructured.Unstructured{Object: object}
	options := metav1.CreateOptions{FieldManager: "kubectl-sunset"}
	if dryRun {
		options.DryRun, options.FieldValidation = []string{metav1.DryRunAll}, metav1.FieldValidationStrict
	}
	created, err := c.objects.Resource(kind.Resource).Namespace(o.GetNamespace()).Create(ctx, o, options)
	if err != nil {
		return nil, err
	}
	return created.Object, nil
}

// SetStatus writes the subresource status of an object, if its kind has one. The error is a conflict if the object has another version.
func (c *Cluster) SetStatus(ctx context.Context, kind Kind, o *unstructured.Unstructured, status map[string]any) error {
	known := map[string]any{"uid": o.GetUID()}
	if version := o.GetResourceVersion(); version != "" {
		known["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": known, "status": status})
	if err != nil {
		return err
	}
	_, err = c.objects.Resource(kind.Resource).Namespace(o.GetNamespace()).
		Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-sunset"}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Username returns the name by which the API server knows the user; empty if it does not tell.
func (c *Cluster) Username(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	err := c.raw.Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").Body(review).Do(ctx).Into(review)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("ask for your user name: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}
