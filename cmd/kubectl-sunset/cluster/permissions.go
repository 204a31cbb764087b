// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// May reports whether a ServiceAccount has a verb for all objects of a resource: in a namespace, or in all if namespace is
// empty.
func (c *Cluster) May(ctx context.Context, who types.NamespacedName, verb string, resource schema.GroupResource, namespace string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               serviceaccount.MakeUsername(who.Namespace, who.Name),
		Groups:             append(serviceaccount.MakeGroupNames(who.Namespace), user.AllAuthenticated),
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource},
	}}
	err := c.raw.Post().AbsPath("/apis/authorization.k8s.io/v1/subjectaccessreviews").Body(review).Do(ctx).Into(review)
	if err != nil {
		return false, fmt.Errorf("check the permissions of ServiceAccount %s: %w", who, err)
	}
	return review.Status.Allowed, nil
}

// Resource returns the resource of a kind. If the cluster does not serve the kind, the error is one of meta.IsNoMatchError.
func (c *Cluster) Resource(kind schema.GroupVersionKind) (schema.GroupResource, error) {
	served, err := c.served(kind.GroupKind(), kind.Version)
	if err != nil {
		err = fmt.Errorf("find the resource of kind %s: %w", kind.Kind, err)
	}
	return served.Resource.GroupResource(), err
}
