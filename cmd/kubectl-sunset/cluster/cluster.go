// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Cluster is a live cluster. It is safe for concurrent use.
type Cluster struct {
	Listed func(objects int) // called with the number of objects of each page of a list; nil for none

	flags    genericclioptions.RESTClientGetter
	objects  dynamic.Interface
	metadata metadata.Interface
	raw      *rest.RESTClient // does not cache responses, unlike the client of kinds
	kinds    discovery.CachedDiscoveryInterface
	mapper   meta.RESTMapper
}

// The client's limits. A preview sends few requests, and completion should not wait for them. A command that changes many
// objects relies on the API server to throttle it.
const (
	requestsPerSecond = 500
	requestsInARow    = 1000
)

// Connect returns a Cluster. It sends no requests.
func Connect(flags genericclioptions.RESTClientGetter) (*Cluster, error) {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsInARow
	c := &Cluster{flags: flags}
	if c.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.kinds, err = flags.ToDiscoveryClient(); err != nil {
		return nil, err
	}
	if c.mapper, err = flags.ToRESTMapper(); err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.raw, err = rest.UnversionedRESTClientFor(config)
	return c, err
}

// The kinds of policies.
var (
	clusterPolicies    = ownKind(v1alpha1.ClusterRetentionPolicyKind, "clusterretentionpolicies", false)
	namespacedPolicies = ownKind(v1alpha1.RetentionPolicyKind, "retentionpolicies", true)
)

// PolicyKind returns the kind of the policies of a namespace, or of the cluster if namespace is empty.
func PolicyKind(namespace string) Kind {
	if namespace == "" {
		return clusterPolicies
	}
	return namespacedPolicies
}

// ownKind returns a kind of Sunset's group.
func ownKind(kind schema.GroupVersionKind, plural string, namespaced bool) Kind {
	return Kind{GroupVersionKind: kind, Resource: v1alpha1.GroupVersion.WithResource(plural), Namespaced: namespaced}
}

// Policies returns the manifests of the cluster's policies, or of the RetentionPolicies of one namespace. A cluster without
// Sunset has none.
func (c *Cluster) Policies(ctx context.Context, namespace string) ([]map[string]any, error) {
	namespaced, err := c.policies(ctx, namespacedPolicies, namespace)
	if err != nil || namespace != "" {
		return namespaced, err
	}
	cluster, err := c.policies(ctx, clusterPolicies, "")
	return append(cluster, namespaced...), err
}

// PermittedPolicies returns the policies that the user may list. Without permission to list RetentionPolicies in all
// namespaces, it lists those of namespace, if that is set. forbidden has an error for each kind that is incomplete.
func (c *Cluster) PermittedPolicies(ctx context.Context, namespace string) (found []map[string]any, forbidden []error, err error) {
	namespaced, err := c.policies(ctx, namespacedPolicies, "")
	if apierrors.IsForbidden(err) && namespace != "" {
		namespaced, err = c.policies(ctx, namespacedPolicies, namespace)
	}
	if err == nil {
		found, err = c.policies(ctx, clusterPolicies, "")
	} else if apierrors.IsForbidden(err) {
		forbidden = append(forbidden, err)
		found, err = c.policies(ctx, clusterPolicies, "")
	}
	if apierrors.IsForbidden(err) {
		forbidden, err = append(forbidden, err), nil
	}
	return append(found, namespaced...), forbidden, err
}

func (c *Cluster) policies(ctx context.Context, kind Kind, namespace string) ([]map[string]any, error) {
	found, err := c.Objects(ctx, kind, namespace)
	if err != nil {
		return nil, fmt.Errorf("list the cluster's policies: %w", err)
	}
	return found, nil
}

// Objects returns the objects of a kind in a namespace; all if namespace is empty. It returns none if the cluster does not serve the kind.
func (c *Cluster) Objects(ctx context.Context, kind Kind, namespace string) (found []map[string]any, err error) {
	err = c.eachObject(ctx, kind.Resource, namespace, metav1.ListOptions{}, func(items []unstructured.Unstructured) error {
		for _, item := range items {
			found = append(found, item.Object)
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// NamespaceKind, NodeKind and DefinitionKind, the CustomResourceDefinitions, are kinds of Kubernetes.
var (
	NamespaceKind = Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Resource: namespaces}
	NodeKind      = Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, Resource: nodes}

	DefinitionKind = Kind{GroupVersionKind: definitions.GroupVersion().WithKind("CustomResourceDefinition"), Resource: definitions}
)

var (
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	resourceQuotas = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	definitions    = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// AddQuotas adds the limits of ResourceQuotas to namespaces: of one, or of all if only is empty.
func (c *Cluster) AddQuotas(ctx context.Context, known map[string]policy.Namespace, only string) error {
	var quotas []corev1.ResourceQuota
	if err := c.eachObject(ctx, resourceQuotas, only, metav1.ListOptions{}, decoded(&quotas)); err != nil {
		return fmt.Errorf("list ResourceQuotas, which percentOfQuota needs: %w", err)
	}
	for _, quota := range quotas {
		n, ok := known[quota.Namespace]
		if ok && len(quota.Spec.Scopes) == 0 && quota.Spec.ScopeSelector == nil {
			n.Quotas = policy.AddQuota(n.Quotas, quota.Spec.Hard)
			known[quota.Namespace] = n
		}
	}
	return nil
}

// Namespaces returns one namespace, or all if only is empty.
func (c *Cluster) Namespaces(ctx context.Context, only string) (map[string]policy.Namespace, error) {
	found := map[string]policy.Namespace{}
	options := metav1.ListOptions{}
	if only != "" {
		options.FieldSelector = "metadata.name=" + only
	}
	err := c.eachMetadata(ctx, namespaces, "", options, func(items []Metadata) error {
		for _, item := range items {
			found[item.Name] = policy.NamespaceOf(maps.Clone(item.Labels), item.Annotations)
		}
		return nil
	})
	if only != "" && apierrors.IsForbidden(err) {
		return c.namespace(ctx, only) // a Role in the namespace can permit this
	}
	if err != nil {
		return nil, fmt.Errorf("list namespaces, whose labels policies select: %w", err)
	}
	return found, nil
}

func (c *Cluster) namespace(ctx context.Context, name string) (map[string]policy.Namespace, error) {
	n, err := c.metadata.Resource(namespaces).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get the namespace, whose labels policies select: %w", err)
	}
	return map[string]policy.Namespace{name: policy.NamespaceOf(n.Labels, n.Annotations)}, nil
}
