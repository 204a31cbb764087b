// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/crds"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF06OverridesCannotBeRead makes the overrides of a team unreadable in different ways. Sunset deletes nothing in any
// namespace, and the policy reports why. Afterwards, Sunset keeps what the override keeps and deletes the rest.
func TestF06OverridesCannotBeRead(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	elsewhere := s.More("elsewhere")
	leads, waits := pair(s, scenario.Start{})
	p := s.Policy("previews", previews("Enforce", "3s"))
	s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	enforcing(s, p)
	in := func(namespace string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) { cm.Namespace = namespace }
	}
	for name, fault := range map[string]proxy.Fault{
		"forbidden":   {Answer: &proxy.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}},
		"not-served":  {Answer: &proxy.Answer{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}},
		"garbage":     {Answer: &proxy.Answer{Code: http.StatusOK, Body: []byte(`{"items":[{"metadata":`)}},
		"no-list":     {Answer: &proxy.Answer{Code: http.StatusOK, Body: []byte(`{}`)}},
		"broken":      {Answer: &proxy.Answer{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError}},
		"interrupted": {Drop: proxy.After},
	} {
		fault.Match = proxy.Requests("list", "retentionpolicies")
		armed := leads.Proxy.Arm(fault)
		s.Expect(armed)
		kept, goes := s.ConfigMap(name, preview), s.ConfigMap(name, preview, in(elsewhere))
		fired(s, armed)
		tells(s, p, v1alpha1.ConditionEnforcing, "Stale")
		silent(t, 2*time.Second, leads, waits)
		armed.Lift()
		s.Gone(goes)
		s.Stays(0, kept)
	}
	s.Calm()
}

// TestF06OverridesAreDeletedWithTheirDefinition deletes the CustomResourceDefinition of overrides, and with it every
// override. Sunset keeps the objects until overrides can be read again and a user has approved. The status reports the
// current reason.
func TestF06OverridesAreDeletedWithTheirDefinition(t *testing.T) {
	scenario.Long(t)
	const kept = 20
	s := scenario.New(t, scenario.Options{Alone: true})
	leads, waits := pair(s, scenario.Start{})
	p := s.Policy("previews", previews("Enforce", "0s")+"approval: {maxObjects: 10, maxPercent: 25}\n")
	s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	enforcing(s, p)
	configMaps(s, "cm", kept, preview)
	counted(s, p, kept)

	definition := overridesDefinition(t)
	t.Cleanup(func() { _ = s.Create(context.Background(), definition.DeepCopy()) }) // also if the test fails
	s.Remove(definition.DeepCopy())
	seenGone := false // a GET of the override returned 404 before its definition was deleted
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		c := scenario.Condition(status, v1alpha1.ConditionEnforcing)
		if seenGone = c.Reason == "ApprovalRequired"; !seenGone && c.Reason != "Stale" {
			return fmt.Errorf("%s is %s, %s", c.Type, c.Status, c.Reason)
		}
		return nil
	})
	silent(t, 3*time.Second, leads, waits)
	if seenGone {
		approve(s, p)
		tells(s, p, v1alpha1.ConditionEnforcing, "Stale", "retentionpolicies")
		silent(t, 3*time.Second, leads, waits)
	}

	s.Eventually(func() error { return s.Create(t.Context(), definition.DeepCopy()) })
	if !seenGone {
		approve(s, p)
	}
	atMost(s, preview, 0)
	s.Calm()
}

// overridesDefinition returns the CustomResourceDefinition of RetentionPolicy.
func overridesDefinition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	for _, file := range crds.Files() {
		if file.Name == "retentionpolicies.sunset-k8s.io" {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			expect.NoError(t, yaml.UnmarshalStrict(file.YAML, definition))
			return definition
		}
	}
	t.Fatal("CustomResourceDefinition of RetentionPolicy not found")
	return nil
}
