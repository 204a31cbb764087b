// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestKey(t *testing.T) {
	variables := func(pairs ...string) []v1alpha1.Variable {
		var all []v1alpha1.Variable
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, v1alpha1.Variable{Name: pairs[i], Expression: pairs[i+1]})
		}
		return all
	}
	usesVariable := func(r *v1alpha1.Rule) { r.Eligible = "variables.b" }
	before := variables("a", "finished(object)", "b", "variables.a", "c", "true")
	tests := map[string]struct {
		first, second                   func(*v1alpha1.Rule)
		firstVariables, secondVariables []v1alpha1.Variable
		equal                           bool
	}{
		"the same rule": {equal: true},
		"another name, ttl, events": {second: func(r *v1alpha1.Rule) {
			r.Name, r.TTL, r.Events = "other", "9d", v1alpha1.EventsPerObject
		}, equal: true},
		"another kind":       {second: func(r *v1alpha1.Rule) { r.Target.Kind = "CronJob" }},
		"another apiVersion": {second: func(r *v1alpha1.Rule) { r.Target.APIVersion = "batch/v1beta1" }},
		"another eligible":   {second: func(r *v1alpha1.Rule) { r.Eligible = "!finished(object)" }},
		"another startTime":  {second: func(r *v1alpha1.Rule) { r.StartTime = "object.metadata.creationTimestamp" }},
		"a ttlExpression":    {second: func(r *v1alpha1.Rule) { r.TTL, r.TTLExpression = "", "days(1)" }},
		"an outcome":         {second: func(r *v1alpha1.Rule) { r.Outcome = "object.kind" }},
		"bytes":              {second: func(r *v1alpha1.Rule) { r.Bytes = "object.kind" }},
		"another way to delete": {second: func(r *v1alpha1.Rule) {
			r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetObject, PropagationPolicy: metav1.DeletePropagationForeground}
		}, equal: true},
		"the owner is deleted": {second: func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetOwner} }},
		"another way to delete the owner": {
			first: func(r *v1alpha1.Rule) { r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetOwner} },
			second: func(r *v1alpha1.Rule) {
				r.Delete = &v1alpha1.Delete{Target: v1alpha1.TargetOwner, AllowUnfinishedOwner: true}
			},
			equal: true,
		},
		"a selector": {second: func(r *v1alpha1.Rule) {
			r.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}},
		"an empty selector": {second: func(r *v1alpha1.Rule) { r.Target.Selector = &metav1.LabelSelector{} }, equal: true},
		"expressions exchanged": {
			first:  func(r *v1alpha1.Rule) { r.Eligible, r.StartTime = "object.a", "object.b" },
			second: func(r *v1alpha1.Rule) { r.Eligible, r.StartTime = "object.b", "object.a" },
		},
		"a variable that is not used": {first: usesVariable, second: usesVariable, firstVariables: before,
			secondVariables: variables("a", "finished(object)", "b", "variables.a", "c", "false"), equal: true},
		"a variable that is used": {first: usesVariable, second: usesVariable, firstVariables: before,
			secondVariables: variables("a", "finished(object)", "b", "!variables.a", "c", "true")},
		"a variable that a used variable uses": {first: usesVariable, second: usesVariable, firstVariables: before,
			secondVariables: variables("a", "failed(object)", "b", "variables.a", "c", "true")},
		"a variable after a comment": {
			first:           func(r *v1alpha1.Rule) { r.Eligible = "variables // .c\n .b" },
			second:          func(r *v1alpha1.Rule) { r.Eligible = "variables // .c\n .b" },
			firstVariables:  variables("b", "true"),
			secondVariables: variables("b", "false"),
		},
	}
	c := fixture.Compiler(t) // shared: a wrong cache key fails the test too
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			first, second := rule(), rule()
			if tc.first != nil {
				tc.first(&first)
			}
			if tc.second != nil {
				tc.second(&second)
			}
			a, b := mustCompile(t, c, first, tc.firstVariables...), mustCompile(t, c, second, tc.secondVariables...)
			if (a.Key() == b.Key()) != tc.equal {
				t.Errorf("keys %s and %s", a.Key(), b.Key())
			}
			if other := mustCompile(t, fixture.Compiler(t), first, tc.firstVariables...); other.Key() != a.Key() {
				t.Error("another compiler returns another key")
			}
		})
	}
}

// TestVariablesOfAnotherPolicy: the cache distinguishes equal expressions whose variables differ.
func TestVariablesOfAnotherPolicy(t *testing.T) {
	c := fixture.Compiler(t)
	r := rule()
	r.Eligible = "variables.v"
	for _, expression := range []string{"true", "false", "true"} {
		got := mustCompile(t, c, r, v1alpha1.Variable{Name: "v", Expression: expression}).Facts(t.Context(), object(t, "job-complete"))
		if want := expression == "true"; got.Eligible != want || got.Err != nil {
			t.Errorf("%s: got %+v", expression, got)
		}
	}
}

func TestReads(t *testing.T) {
	tests := map[string]struct {
		eligible, startTime string
		selector            *metav1.LabelSelector
		want                []string
		metadataOnly        bool
	}{
		"metadata": {"has(object.metadata.labels.temporary)", "object.metadata.creationTimestamp", nil,
			[]string{"metadata.creationTimestamp", "metadata.labels.temporary"}, true},
		"metadata, apiVersion and kind": {"object.kind == 'Job' && object.apiVersion == 'batch/v1'", "object.metadata.creationTimestamp", nil,
			[]string{"apiVersion", "kind", "metadata.creationTimestamp"}, true},
		"the selector reads labels": {"true", "object.metadata.creationTimestamp", &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			[]string{"metadata.creationTimestamp", "metadata.labels"}, true},
		"owners are metadata": {"!controllerOf(object).hasValue()", "object.metadata.creationTimestamp", nil,
			[]string{"metadata.creationTimestamp", "metadata.ownerReferences"}, true},
		"status is not metadata":              {"finished(object)", "finishedAt(object)", nil, []string{"apiVersion", "kind", "status"}, false},
		"the whole object is not metadata":    {"object == object", "object.metadata.creationTimestamp", nil, []string{"*"}, false},
		"no fields are metadata":              {"true", "timestamp(0)", nil, nil, true},
		"any top-level field is not metadata": {"object[object.kind] == 1", "timestamp(0)", nil, []string{"*", "kind"}, false},
	}
	c := fixture.Compiler(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Eligible, r.StartTime, r.Target.Selector = tc.eligible, tc.startTime, tc.selector
			compiled := mustCompile(t, c, r)
			expect.Equal(t, "reads", tc.want, compiled.Reads())
			expect.Equal(t, "MetadataOnly", tc.metadataOnly, compiled.MetadataOnly())
		})
	}
}
