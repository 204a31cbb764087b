// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/audit"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ArchiveKind is the kind of RetentionArchives.
var ArchiveKind = ownKind(v1alpha1.GroupVersion.WithKind("RetentionArchive"), "retentionarchives", false)

// Archive gets a RetentionArchive. An empty name stands for the only one that the cluster has.
func (c *Cluster) Archive(ctx context.Context, name string) (*v1alpha1.RetentionArchive, error) {
	if name != "" {
		object, err := c.Get(ctx, ArchiveKind, "", name)
		if err != nil {
			return nil, fmt.Errorf("get RetentionArchive %q: %w", name, err)
		}
		one := &v1alpha1.RetentionArchive{}
		return one, runtime.DefaultUnstructuredConverter.FromUnstructured(object, one)
	}
	var all []v1alpha1.RetentionArchive
	if err := c.eachObject(ctx, ArchiveKind.Resource, "", metav1.ListOptions{}, decoded(&all)); err != nil {
		return nil, fmt.Errorf("list RetentionArchives: %w", err)
	}
	switch len(all) {
	case 0:
		return nil, errors.New("the cluster has no RetentionArchive")
	case 1:
		return &all[0], nil
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("the cluster has several RetentionArchives; choose one with --archive: %s", strings.Join(names, ", "))
}

// SecretData gets the data of a Secret.
func (c *Cluster) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := c.raw.Get().AbsPath("/api/v1").Namespace(namespace).Resource("secrets").Name(name).Do(ctx).Into(secret)
	return secret.Data, err
}

// Serving returns a kind as the cluster serves it in exactly this version.
func (c *Cluster) Serving(kind schema.GroupVersionKind) (Kind, error) {
	m, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return Kind{}, fmt.Errorf("%w; ensure that its CustomResourceDefinition is installed", err)
	}
	return kindOf(m), nil
}

// IsBuiltIn reports whether Kubernetes itself serves a group.
func IsBuiltIn(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io"
}

// Live gets the object with a name; an empty one if there is none, or the cluster does not serve its kind. The namespace of a
// cluster-scoped object does not matter.
func (c *Cluster) Live(ctx context.Context, name audit.Object) (*unstructured.Unstructured, error) {
	kind := schema.FromAPIVersionAndKind(name.APIVersion, name.Kind)
	object, err := c.Owner(ctx, policy.Owner{Kind: kind, Name: name.Name}, name.Namespace)
	if meta.IsNoMatchError(err) {
		err = nil
	}
	return &unstructured.Unstructured{Object: object}, err
}

// SetStatus writes the subresource status of an object, if its kind has one.
func (c *Cluster) SetStatus(ctx context.Context, kind Kind, o *unstructured.Unstructured, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID()}, "status": status})
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
