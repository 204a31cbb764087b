// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// ours are the definitions of all kinds of Sunset.
func (w *env) ours(ctx context.Context) (all []apiextensionsv1.CustomResourceDefinition) {
	w.Helper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	expect.NoError(w, w.List(ctx, list))
	for _, crd := range list.Items {
		if crd.Spec.Group == v1alpha1.GroupVersion.Group {
			all = append(all, crd)
		}
	}
	return all
}

// versions sets for every kind which versions are served and which one is stored; all have the schema of v1alpha1.
func (w *env) versions(stored string, served ...string) {
	w.Helper()
	for _, crd := range w.ours(w.Context()) {
		current := crd.DeepCopy()
		crd.Spec.Versions = nil
		for _, name := range []string{v1alpha1.GroupVersion.Version, "v1alpha2"} {
			v := *current.Spec.Versions[0].DeepCopy()
			v.Name, v.Storage, v.Served = name, name == stored, false
			for _, s := range served {
				v.Served = v.Served || s == name
			}
			crd.Spec.Versions = append(crd.Spec.Versions, v)
		}
		expect.NoError(w, w.Patch(w.Context(), &crd, client.MergeFrom(current)))
	}
}

// serves waits until a version is served, or is no longer served.
func (w *env) serves(version string, want bool) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		list := &unstructured.UnstructuredList{}
		list.SetKind("ClusterRetentionPolicyList")
		list.SetAPIVersion(v1alpha1.GroupVersion.Group + "/" + version)
		if err := w.List(w.Context(), list); (err == nil) != want {
			return fmt.Errorf("%s: %w", version, err)
		}
		return nil
	})
}

// redefine deletes every definition with its objects, and installs the definitions again.
func (w *env) redefine() {
	w.Helper()
	ctx := context.Background() // the context of the test has ended
	for _, crd := range w.ours(ctx) {
		expect.NoError(w, w.Delete(ctx, &crd))
		cluster.Eventually(w, patience, func() error {
			if err := w.Get(ctx, client.ObjectKeyFromObject(&crd), &crd); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s still exists: %w", crd.Name, err)
			}
			return nil
		})
	}
	w.definitions("../../crds")
}

// TestAPIVersionUnservedStopsDeletions: a second version with the same schema changes nothing, whichever version is stored, even for
// a policy that was written in it. While the API server does not serve the controller's version, nothing is deleted;
// afterwards everything is.
func TestAPIVersionUnservedStopsDeletions(t *testing.T) {
	w := newEnv(t)
	t.Cleanup(func() { w.in(t).redefine() })
	w.versions("v1alpha1", "v1alpha1", "v1alpha2")
	w.serves("v1alpha2", true)
	w.sunset()
	object := w.clusterPolicy("versions", fmt.Sprintf(fleetingPolicy, "Enforce"))
	object.SetAPIVersion(v1alpha1.GroupVersion.Group + "/v1alpha2")
	w.create(object)
	p := policyNamed(object.GetName())
	w.gone(w.configMap("first", fleet))
	w.versions("v1alpha2", "v1alpha1", "v1alpha2")
	cluster.Eventually(w, patience, func() error {
		for _, crd := range w.ours(w.Context()) {
			if len(crd.Status.StoredVersions) != 2 {
				return fmt.Errorf("%s was stored as %v", crd.Name, crd.Status.StoredVersions)
			}
		}
		return nil
	})
	w.gone(w.configMap("second", fleet))
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionReady)
		return cluster.Want(c.Status == metav1.ConditionTrue && s.Deleted == 2, "not ready with two deleted")
	})
	w.versions("v1alpha2", "v1alpha2")
	w.serves("v1alpha1", false)
	time.Sleep(time.Second) // a deletion may use a read that is up to a second old
	third := w.configMap("third", fleet)
	w.stays(3*time.Second, third)
	w.versions("v1alpha2", "v1alpha1", "v1alpha2")
	w.gone(third)
}

var fleet = map[string]string{"test": "versions"}

// fleetingPolicy deletes ConfigMaps immediately.
const fleetingPolicy = `
mode: %s
rules:
- name: fleeting
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {test: versions}}}
  eligible: "true"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`
