package cluster

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

// String returns NAMESPACE/NAME.
func (a Account) String() string { return a.Namespace + "/" + a.Name }

// ParseAccount parses NAMESPACE/NAME.
func ParseAccount(text string) (Account, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return Account{}, fmt.Errorf("%q is not NAMESPACE/NAME", text)
	}
	return Account{namespace, name}, nil
}

// May reports whether an account has a verb for all objects of a resource: in a namespace, or in all if namespace is empty.
func (c *Cluster) May(ctx context.Context, who Account, verb string, resource schema.GroupResource, namespace string) (bool, error) {
	const prefix = "system:serviceaccount"
	question := &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               prefix + ":" + who.Namespace + ":" + who.Name,
			Groups:             []string{prefix + "s", prefix + "s:" + who.Namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(question)
	if err != nil {
		return false, err
	}
	answer, err := c.objects.Resource(authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews")).
		Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("check the permissions of ServiceAccount %s: %w", who, err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}

// Resource returns the resource of a kind; false if the cluster does not serve the kind.
func (c *Cluster) Resource(kind schema.GroupVersionKind) (schema.GroupResource, bool) {
	m, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupResource{}, false
	}
	return m.Resource.GroupResource(), true
}
