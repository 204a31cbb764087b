// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/peers/compare"
)

// applier creates objects as an administrator.
type applier struct {
	client  client.Client
	config  *rest.Config
	builtIn *runtime.Scheme
}

func newApplier(config *rest.Config) (*applier, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return &applier{client: c, config: config, builtIn: scheme}, err
}

// apply creates the definitions of custom resources, the namespaces and the objects, with their status, except those of applyTokens.
func (a *applier) apply(ctx context.Context, s *compare.State) error {
	if _, err := cluster.InstallCRDs(a.config, envtest.CRDInstallOptions{CRDs: a.definitions(s.Objects)}); err != nil {
		return err
	}
	namespaces := sets.New[string]()
	for _, o := range s.Objects {
		namespaces.Insert(o.GetNamespace())
	}
	for _, name := range sets.List(namespaces.Delete("", metav1.NamespaceDefault)) {
		if err := a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return a.createEach(ctx, slices.DeleteFunc(s.Sorted(), isToken))
}

// applyTokens creates the Secrets with tokens of ServiceAccounts. The controller manager always deletes those whose ServiceAccount
// has another UID, so it must not run any more.
func (a *applier) applyTokens(ctx context.Context, s *compare.State) error {
	return a.createEach(ctx, slices.DeleteFunc(s.Sorted(), func(o *unstructured.Unstructured) bool { return !isToken(o) }))
}

func isToken(o *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "type")
	return o.GetKind() == "Secret" && kind == string(corev1.SecretTypeServiceAccountToken)
}

func (a *applier) createEach(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := a.create(ctx, o.DeepCopy()); err != nil {
			return fmt.Errorf("create %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}

// definitions returns one definition, which accepts any field, for each kind that Kubernetes does not have.
func (a *applier) definitions(objects []*unstructured.Unstructured) []*apiextensionsv1.CustomResourceDefinition {
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, o := range objects {
		if kind := o.GroupVersionKind(); !a.builtIn.Recognizes(kind) {
			d := definition(kind, o.GetNamespace() != "")
			all[d.Name] = d
		}
	}
	for _, o := range objects { // the samples have some
		if o.GetKind() == "CustomResourceDefinition" {
			delete(all, o.GetName())
		}
	}
	return slices.Collect(maps.Values(all))
}

func definition(kind schema.GroupVersionKind, namespaced bool) *apiextensionsv1.CustomResourceDefinition {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	scope := apiextensionsv1.ClusterScoped
	if namespaced {
		scope = apiextensionsv1.NamespaceScoped
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:        plural.Resource + "." + kind.Group,
			Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, Plural: plural.Resource, Singular: singular.Resource},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// create creates an object, and writes its status if the API server has not taken it.
func (a *applier) create(ctx context.Context, o *unstructured.Unstructured) error {
	status, hasStatus := o.Object["status"]
	compare.Prepare(o)
	// A definition of the samples may have been created above, and an object of a new kind needs a moment.
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		err := a.client.Create(ctx, o)
		if apierrors.IsAlreadyExists(err) { // the default roles and classes of Kubernetes
			hasStatus, err = false, nil
		}
		return err == nil, client.IgnoreNotFound(ignoreNoMatch(err))
	})
	isDefinition := o.GroupVersionKind().Group == apiextensionsv1.GroupName // the API server writes its status
	if err != nil || !hasStatus || isDefinition || !a.builtIn.Recognizes(o.GroupVersionKind()) {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		if err := a.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err
		}
		o.Object["status"] = status
		err := a.client.Status().Update(ctx, o)
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	})
}

func ignoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
