// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// widgets is a CRD with one version and one field.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: VERSION
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {done: {type: TYPE}}}}
`

// done deletes Widgets whose field done is true.
const done = `
mode: Enforce
rules:
- name: widgets
  target: {apiVersion: GROUP/VERSION, kind: Widget}
  eligible: object.spec.done == true
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`

// TestF29ACRDComesBackOtherwise removes a CRD with all its objects, and creates it again with another type of a field, and
// then with another version. Sunset evaluates objects of the same names by their current state. It keeps objects that do not
// fit the policy, and the policy reports that.
func TestF29ACRDComesBackOtherwise(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Alone: true})
	of := func(text, version, kind string) string {
		return strings.NewReplacer("VERSION", version, "TYPE", kind).Replace(text)
	}
	crd := apply(s, of(widgets, "v1", "boolean"))
	p := s.Policy("widgets", grouped(s, of(done, "v1", "")))
	s.Policy("previews", previews("Enforce", "0s"))
	r := s.Sunset(scenario.Start{})
	stays := someWidget(s, "stays", "v1", false)
	s.Gone(someWidget(s, "goes", "v1", true))
	s.Stays(0, stays)

	s.Remove(crd)
	s.Gone(crd)
	tells(s, p, v1alpha1.ConditionWatching, "KindNotFound", "widgets")
	s.Gone(s.ConfigMap("meanwhile", preview))

	crd = apply(s, of(widgets, "v1", "string"))
	text, odd := someWidget(s, "stays", "v1", "true"), someWidget(s, "goes", "v1", "yes")
	counted(s, p, 2)
	s.Stays(2*time.Second, text, odd)

	s.Remove(crd)
	s.Gone(crd)
	apply(s, of(widgets, "v2", "boolean"))
	newer := someWidget(s, "goes", "v2", true)
	tells(s, p, v1alpha1.ConditionWatching, "KindNotFound")
	s.Stays(2*time.Second, newer)
	s.Edit(p, func(spec *v1alpha1.ClusterRetentionPolicySpec) {
		spec.Rules[0].Target.APIVersion = grouped(s, "GROUP/v2")
	})
	s.Gone(newer)
	s.Gone(s.ConfigMap("after", preview))
	if !r.Running() {
		t.Error("the controller has ended")
	}
	s.Calm()
}

// someWidget creates a Widget as soon as the kind is served.
func someWidget(s *scenario.Scenario, name, version string, done any) *unstructured.Unstructured {
	s.Helper()
	object := read(s, "apiVersion: GROUP/"+version+"\nkind: Widget\n")
	object.Object["spec"] = map[string]any{"done": done}
	object.SetNamespace(s.Namespace)
	object.SetName(name)
	s.Eventually(func() error { return s.Create(s.Context(), object) })
	return object
}
