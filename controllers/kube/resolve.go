// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/sunset-k8s/sunset/controllers/kube/listwatch"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// resolve finds the resource that serves a kind. An administrator must fix a SourceError; a retry can fix an error.
func (c *Cluster) resolve(ctx context.Context, kind schema.GroupVersionKind) (*meta.RESTMapping, *retention.SourceError, error) {
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return nil, notServed(kind, nil), nil
	case err != nil:
		return nil, nil, fmt.Errorf("resolve %s: %w", kind, err)
	}
	sourceErr, err := c.refuseAggregated(ctx, kind)
	return mapping, sourceErr, err
}

const (
	kindNotFound   = "KindNotFound"
	discoverWithin = 10 * time.Second
)

// notServed returns the SourceError of a kind that is not among those served, with the message of the admission webhook.
func notServed(kind schema.GroupVersionKind, served []*metav1.APIResourceList) *retention.SourceError {
	problem, _ := policy.UnknownKind("", kind, served)
	return &retention.SourceError{Reason: kindNotFound, Message: fmt.Sprintf("%s (%s)", problem.Message, problem.Hint)}
}

// served lists the kinds of the cluster; none if discovery fails.
func (c *Cluster) served(ctx context.Context) []*metav1.APIResourceList {
	ctx, cancel := context.WithTimeout(ctx, discoverWithin)
	defer cancel()
	_, lists, _ := discovery.NewDiscoveryClient(c.rest).ServerGroupsAndResourcesWithContext(ctx)
	return lists
}

// refuseAggregated returns a SourceError for a kind that an aggregated API server serves: such a server may ignore preconditions.
func (c *Cluster) refuseAggregated(ctx context.Context, kind schema.GroupVersionKind) (*retention.SourceError, error) {
	if kind.Group == "" || slices.Contains(c.protection.AllowKinds, kind.GroupKind()) {
		return nil, nil
	}
	name := kind.Version + "." + kind.Group
	data, err := listwatch.Body(c.rest.Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices", name).Do(ctx))
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return &retention.SourceError{Reason: "Forbidden", Message: listwatch.Refused("apiservices.apiregistration.k8s.io", "get")}, nil
	case err != nil:
		return nil, fmt.Errorf("get APIService %s: %w", name, err)
	}
	var service struct {
		Spec struct {
			Service *struct{} `json:"service"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &service); err != nil {
		return nil, fmt.Errorf("decode APIService %s: %w", name, err)
	}
	if service.Spec.Service == nil {
		return nil, nil
	}
	return &retention.SourceError{
		Reason: "AggregatedAPI",
		Message: fmt.Sprintf("%s is served by an aggregated API server, which may ignore preconditions; to allow it, set the controller flag --allow-kinds=%s",
			kind.GroupVersion(), kind.GroupKind()),
	}, nil
}

// may returns a SourceError unless Sunset has permission to use the verb on the resource in all namespaces.
func (c *Cluster) may(ctx context.Context, verb string, resource schema.GroupVersionResource) (*retention.SourceError, error) {
	review := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
		}},
	}
	body, err := json.Marshal(&review)
	if err != nil {
		return nil, err
	}
	data, err := listwatch.Body(c.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
		SetHeader("Content-Type", listwatch.AcceptJSON).Body(body).Do(ctx))
	if err != nil {
		return nil, fmt.Errorf("check the permission to %s %s: %w", verb, resource.GroupResource(), err)
	}
	if err := json.Unmarshal(data, &review); err != nil {
		return nil, err
	}
	if review.Status.Allowed {
		return nil, nil
	}
	return forbidden(resource, verb), nil
}

func forbidden(r schema.GroupVersionResource, verbs ...string) *retention.SourceError {
	resource := r.GroupResource()
	return &retention.SourceError{Reason: "Forbidden", Message: listwatch.Refused(resource.String(), verbs...), Resource: resource}
}

// sourceErrorOf returns the SourceError of a failed list or watch; nil if a retry is enough.
func sourceErrorOf(err error, resource schema.GroupVersionResource) *retention.SourceError {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return forbidden(resource, "list", "watch")
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return &retention.SourceError{Reason: kindNotFound, Message: fmt.Sprintf("%s cannot be listed: %v", resource.GroupResource(), err)}
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return nil
	default:
		return &retention.SourceError{Reason: "ListFailed", Message: fmt.Sprintf("cannot list and watch %s: %v", resource.GroupResource(), err)}
	}
}
