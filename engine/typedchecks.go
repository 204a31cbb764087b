// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// imageProblems returns the problems of a rule about images: fields that no image or node has, fields that are read as
// another type, and functions that do not apply to images. The problems of a variable are reported where the rule uses
// it, because the variable may be valid in other rules.
func (r *Program) imageProblems(d *declared) []policy.Problem {
	typed := d.under("images", diagnose.ImageVariables)
	var problems []policy.Problem
	for _, e := range r.source.expressions() {
		_, findings := r.compiler.checked(e.text, e.wants, typed.scope)
		findings = append(diagnose.ImageFunctions(r.compiler.base, e.text), findings...)
		for _, v := range r.source.variablesUsed(e.text) {
			for _, f := range append(diagnose.ImageFunctions(r.compiler.base, v.Expression), typed.findings[v.Name]...) {
				f.Message, f.Line, f.Column = "variables."+v.Name+": "+f.Message, 1, 1
				findings = append(findings, f)
			}
		}
		problems = append(problems, diagnose.Problems(e.path(r.source.path), e.text, diagnose.AboutImages(findings))...)
	}
	return problems
}

// referenceProblems returns the problems of a rule that reads references, targets or selected, and of the variables that read
// them: fields that are missing, or that are read as another type.
func (r *Program) referenceProblems(d *declared) []policy.Problem {
	typed := d.under("references", diagnose.ReferenceVariables)
	problems := d.referenceProblems(typed)
	for _, e := range r.source.expressions() {
		if c := r.compiler.expression(e.text, e.wants, d.scope); readsRelations(c.program.at) {
			problems = append(problems, diagnose.Problems(e.path(r.source.path), e.text, r.compiler.referenceFindings(e.text, e.wants, typed.scope))...)
		}
	}
	return problems
}

// referenceProblems returns the problems of the variables that read references. It computes them once for all rules.
func (d *declared) referenceProblems(t *typed) []policy.Problem {
	if t.problems == nil {
		t.problems = []policy.Problem{}
		for i, v := range d.scope.variables {
			if readsRelations(v.reads) {
				t.problems = append(t.problems, diagnose.Problems(fmt.Sprintf("spec.variables[%d].expression", i), v.text, d.compiler.referenceFindings(v.text, anything, t.scope))...)
			}
		}
	}
	return slices.Clone(t.problems)
}

// readsRelations reports whether an expression reads references, targets or selected: the zero value says that it does not.
func readsRelations[T comparable](reads perContextVar[T]) bool {
	var not T
	return reads[referencesVar] != not || reads[targetsVar] != not || reads[selectedVar] != not
}

// referenceFindings returns the findings about references in a text that compiles without their types.
func (c *Compiler) referenceFindings(text string, wants result, s *scope) (findings []diagnose.Finding) {
	defer recoverAs(&findings)
	return diagnose.References(s.env, text, func() (*cel.Ast, []diagnose.Finding) { return c.check(text, wants, s) })
}

// variablesUsed returns the variables that a text uses, directly or through other variables, in the order of the policy.
func (s *source) variablesUsed(text string) []v1alpha1.Variable {
	var all []v1alpha1.Variable
	for _, v := range slices.Backward(s.variables) {
		if slices.Contains(syntax.VariablesIn(text), v.Name) {
			all = append(all, v)
			text += "\n" + v.Expression
		}
	}
	slices.Reverse(all)
	return all
}
