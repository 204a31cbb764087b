package engine

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/policy"
)

// Check compares the rule with the schema of its target, as SchemaOf gives it, and returns warnings: fields that the
// schema does not have, values that are compared with another type. They never change what the rule does, because a
// schema may be behind the objects. It leaves out what works at run time though CEL's checker refuses it. It does not warn of optional fields that are read without has() or .?, which in
// Kubernetes are nearly all.
func (r *Rule) Check(schema *spec.Schema) []policy.Problem {
	if schema == nil {
		return nil
	}
	provider := newSchemaTypes(r.compiler.base.CELTypeProvider())
	env, err := r.compiler.base.Extend(append(extraVariables(), // variables for other rules of the policy may read any
		cel.CustomTypeProvider(provider),
		cel.Variable(objectVariable, provider.typeOf(schema, objectVariable)))...)
	if err != nil {
		return []policy.Problem{{Path: r.source.path, Message: fmt.Sprintf("the schema cannot be used: %v", err)}}
	}
	s, findings := r.compiler.declareFor(r.source.variables, &scope{env: env})
	var problems []policy.Problem
	isUnsure := func(f finding) bool { return f.unsure }
	for i, v := range r.source.variables {
		found := slices.DeleteFunc(findings[v.Name], isUnsure)
		problems = append(problems, problemsAt(fmt.Sprintf("spec.variables[%d].expression", i), v.Expression, found)...)
	}
	for _, e := range r.source.expressions() {
		_, findings := r.compiler.checked(e.text, e.wants, s)
		problems = append(problems, problemsAt(e.path(r.source.path), e.text, slices.DeleteFunc(findings, isUnsure))...)
	}
	return problems
}

// checked type-checks the text and gives its type, which is dynamic if something is wrong.
func (c *Compiler) checked(text string, wants result, s *scope) (t *cel.Type, findings []finding) {
	defer recoverAs(&findings)
	if provider, ok := s.env.CELTypeProvider().(*schemaTypes); ok {
		clear(provider.lacking)
	}
	t = cel.DynType
	checked, findings := c.check(text, wants, s)
	if checked != nil {
		t = checked.OutputType()
	}
	return t, findings
}
