// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// patience is how long a test waits for an expected change.
const patience = 90 * time.Second

// server is an API server into which a test installs the chart.
type server struct {
	*testing.T
	client.Client
	plane *cluster.Cluster
}

// TestChartOnAPIServer is one test with several steps because starting a control plane for each of them is expensive.
func TestChartOnAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	plane, err := cluster.Start(t.Context(), cluster.Options{
		AuditPolicy: cluster.AuditMetadata, Progress: os.Stderr,
	})
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &server{T: t, plane: plane}
	s.connect()
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	s.foreign()
	for name, values := range sets(t) {
		t.Run("accepts "+name, func(t *testing.T) { s.takes(t, render(t, "--values", values)) })
	}
	t.Run("permissions are sufficient and all of them are used", func(t *testing.T) { s.in(t).permissions() })
	t.Run("conditions contain the manifest to apply", func(t *testing.T) { s.in(t).conditions() })
	t.Run("built-in roles include permissions for policies", func(t *testing.T) { s.in(t).users() })
	t.Run("helm test succeeds when the controller is ready", func(t *testing.T) { s.in(t).helmTest() })
	t.Run("one command removes all permissions to delete", func(t *testing.T) { s.in(t).stopped() })
}

// in returns the server in a subtest.
func (s *server) in(t *testing.T) *server { return &server{T: t, Client: s.Client, plane: s.plane} }

func (s *server) connect() {
	s.Helper()
	var err error
	s.Client, err = cluster.NewClient(s.plane.Config())
	expect.NoError(s, err)
}

func (s *server) create(object client.Object) {
	s.Helper()
	if err := s.Create(s.Context(), object); err != nil {
		s.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// foreign creates the third-party kinds that the chart and the samples use, with any content.
func (s *server) foreign() {
	s.Helper()
	var names []string
	for _, kind := range []schema.GroupVersionKind{
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"},
		{Group: "tekton.dev", Version: "v1", Kind: "PipelineRun"},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotClass"},
		{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotContent"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "Gateway"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GatewayClass"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "ListenerSet"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "BackendTLSPolicy"},
		{Group: "gateway.networking.x-k8s.io", Version: "v1alpha1", Kind: "XListenerSet"},
	} {
		plural := resourceOf(kind).Resource
		definition := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group, Annotations: map[string]string{
				"api-approved.kubernetes.io": "unapproved, for a test"}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind.Kind, ListKind: kind.Kind + "List", Singular: strings.ToLower(kind.Kind)},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: kind.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}}},
			},
		}
		s.create(definition)
		names = append(names, definition.Name)
	}
	for _, name := range names {
		s.served(name)
	}
}

// served waits until the API server serves a kind.
func (s *server) served(name string) {
	s.Helper()
	cluster.Eventually(s, patience, func() error {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := s.Get(s.Context(), client.ObjectKey{Name: name}, definition); err != nil {
			return err
		}
		if !slices.ContainsFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}) {
			return fmt.Errorf("%s is not served", name)
		}
		return nil
	})
}

// takes applies the rendered objects as a server-side dry run. The API server must know every field and return no warning.
func (s *server) takes(t *testing.T, text []byte) {
	t.Helper()
	for _, object := range objects(t, text) {
		if err := s.apply(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (s *server) apply(ctx context.Context, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	return s.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), append(options, client.FieldOwner("helm"), client.ForceOwnership)...)
}
