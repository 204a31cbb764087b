// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

var notFound = &proxy.Answer{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}

// TestF12AnOwnerIsNotFoundForAWhile answers reads of an owner with 404 for a while, as an API server does that has not read
// its store yet. Sunset deletes neither the owner nor the object, and deletes the owner once it can read it.
func TestF12AnOwnerIsNotFoundForAWhile(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	leads, waits := pair(s, scenario.Start{})
	job := s.FinishedJob("job")
	cm := s.ConfigMap("owned", preview, func(cm *corev1.ConfigMap) {
		cm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	})
	armed := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("get", "jobs").And(proxy.In(s.Namespace)), Answer: notFound})
	s.Expect(armed)
	s.Policy("previews", previews("Enforce", "0s")+"  delete: {target: Owner}\n")
	fired(s, armed)
	silent(t, 3*time.Second, leads, waits)
	s.Stays(0, job, cm)
	armed.Lift()
	s.Gone(job, cm)
	s.Calm()
}

// TestF12AReferringKindIsNotFoundForAWhile answers 404 for a kind that refers to ConfigMaps, and then only for its objects,
// for less than a quiet period. Watches end, so that Sunset reads the kind again. Sunset keeps the used ConfigMap.
func TestF12AReferringKindIsNotFoundForAWhile(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	kind := schema.GroupVersionKind{Group: s.Namespace + ".example.com", Version: "v1", Kind: "Site"}
	define(s, kind, "sites", nil)
	used, unused := s.ConfigMap("used", preview), s.ConfigMap("unused", preview)
	site := instance(s, kind, "shop", map[string]any{"spec": map[string]any{"configMap": used.Name}})
	leads, waits := pair(s, scenario.Start{Flags: longLeases})
	p := s.Policy("unreferenced", unreferenced+`
references:
- from: {apiVersion: `+kind.GroupVersion().String()+`, kind: Site}
  to: ConfigMap
  names: "[object.spec.configMap]"
`)
	s.Gone(unused)
	enforcing(s, p)

	for _, what := range []string{"", "sites"} {
		missing := func(r *http.Request) bool {
			return strings.HasPrefix(r.URL.Path, "/apis/"+kind.Group) && strings.Contains(r.URL.Path, what)
		}
		armed := leads.Proxy.Arm(proxy.Fault{Match: missing, Answer: notFound})
		s.Expect(armed)
		leads.Proxy.Cut()
		fired(s, armed)
		silent(t, quiet-10*time.Second, leads, waits)
		armed.Lift()
	}
	silent(t, quiet, leads, waits)
	s.Stays(0, used)
	s.Remove(site)
	s.Gone(used)
	s.Calm()
}

// define creates a CustomResourceDefinition of a namespaced kind with a status, and waits until it is served.
func define(s *scenario.Scenario, kind schema.GroupVersionKind, plural string, status *apiextensionsv1.CustomResourceSubresources) {
	s.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: plural, Singular: strings.ToLower(kind.Kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true, Subresources: status,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true)}},
			}},
		},
	}
	s.MustCreate(crd)
	s.Cleanup(func() { _ = s.Delete(context.Background(), crd) })
	s.Eventually(func() error {
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return s.List(s.Context(), all)
	})
}

// instance creates an object of a custom kind in the scenario's namespace.
func instance(s *scenario.Scenario, kind schema.GroupVersionKind, name string, fields map[string]any) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	s.MustCreate(object)
	return object
}
