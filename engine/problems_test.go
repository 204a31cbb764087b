// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestProblemsOfRules(t *testing.T) {
	tests := map[string]struct {
		change    func(*v1alpha1.Rule)
		variables []v1alpha1.Variable
		want      []string
	}{
		"every expression is reported at once": {
			change: func(r *v1alpha1.Rule) { r.Eligible, r.StartTime, r.TTLExpression = "foo()", "1", "7" },
			want: []string{
				`spec.rules[0].eligible:1:1: unknown function foo() (docs/reference/cel.md lists the functions)`,
				"spec.rules[0].startTime:1:1: returns int, but startTime must return timestamp or optional(timestamp) (write a time, such as finishedAt(object) or object.metadata.creationTimestamp)",
				"spec.rules[0].ttlExpression:1:1: returns int, but ttlExpression must return duration or optional(duration) (days(7) is seven days, duration('90s') ninety seconds)",
			},
		},
		"an outcome that is not a string": {
			change: func(r *v1alpha1.Rule) { r.Outcome = "succeeded(object)" },
			want: []string{
				"spec.rules[0].outcome:1:1: returns bool, but outcome must return string (write a string that describes how the object ended, such as succeeded(object) ? 'Succeeded' : 'Failed')",
			},
		},
		"a problem of a variable is reported at the variable only": {
			change:    func(r *v1alpha1.Rule) { r.Eligible = "variables.b" },
			variables: []v1alpha1.Variable{{Name: "a", Expression: "true"}, {Name: "b", Expression: "variables.a && x"}},
			want:      []string{`spec.variables[1].expression:1:16: unknown name "x" (read fields of the object, such as object.status.phase; put strings in quotes: 'x')`},
		},
		"a variable cannot use a later one": {
			change:    func(*v1alpha1.Rule) {},
			variables: []v1alpha1.Variable{{Name: "a", Expression: "variables.b"}, {Name: "b", Expression: "true"}},
			want:      []string{`spec.variables[0].expression:1:1: unknown variable "b" (declare it in spec.variables; a variable may use those before it)`},
		},
		"a variable declared twice": {
			change:    func(*v1alpha1.Rule) {},
			variables: []v1alpha1.Variable{{Name: "a", Expression: "true"}, {Name: "a", Expression: "false"}},
			want:      []string{`spec.variables[1].expression:1:1: the name "a" is not unique, or is invalid (use letters, digits and _, and each name once)`},
		},
		"a variable whose name is an expression": {
			change:    func(r *v1alpha1.Rule) { r.TTLExpression = "days(variables.ttl-days)" },
			variables: []v1alpha1.Variable{{Name: "ttl-days", Expression: "7"}},
			want:      []string{`spec.variables[0].expression:1:1: the name "ttl-days" is not unique, or is invalid (use letters, digits and _, and each name once)`},
		},
		"an invalid selector": {
			change: func(r *v1alpha1.Rule) {
				r.Target.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
			},
			want: []string{`spec.rules[0].target.selector.matchExpressions[0].operator: "Near" is not an operator (In, NotIn, Exists or DoesNotExist)`},
		},
		"a Secret's data": {
			change: func(r *v1alpha1.Rule) {
				r.Target = v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}
				r.Eligible, r.StartTime = "object.type == 'Opaque' && size(object.data) > 0", "object.metadata.creationTimestamp"
			},
			want: []string{"spec.rules[0].eligible:1:1: only the metadata of a Secret can be read, but this reads data, type (use the name, labels, annotations, ownerReferences or references; Sunset watches only the metadata of Secrets, which does not include the type)"},
		},
		"a Secret as a whole": {
			change: func(r *v1alpha1.Rule) {
				r.Target = v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}
				r.Eligible, r.StartTime = "string(object).contains('x')", "object.metadata.creationTimestamp"
			},
			want: []string{"spec.rules[0].eligible:1:1: only the metadata of a Secret can be read, but this reads the whole object (use the name, labels, annotations, ownerReferences or references; Sunset watches only the metadata of Secrets, which does not include the type)"},
		},
		"a Secret's metadata is fine": {
			change: func(r *v1alpha1.Rule) {
				r.Target = v1alpha1.Target{APIVersion: "v1", Kind: "Secret"}
				r.Eligible, r.StartTime = "object.kind == 'Secret' && !controllerOf(object).hasValue()", "object.metadata.creationTimestamp"
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			tc.change(&r)
			compiled, problems := fixture.Compiler(t).Rule(r, tc.variables, "spec.rules[0]")
			expect.Equal(t, "problems", tc.want, policy.Lines(problems))
			if (compiled == nil) != (len(problems) > 0) {
				t.Error("a rule in addition to problems, or neither")
			}
		})
	}
}
