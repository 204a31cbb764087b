// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// Check compares the rule with the schema of its target, as openapi.SchemaOf returns it. It returns warnings: fields that the
// schema does not have, comparisons between types that differ, and a groupBy that puts all objects into one group.
// Warnings never change what the rule does, because a schema may be older than the objects. Check omits expressions
// that CEL's checker rejects but that work at run time. It does not warn about optional fields that are read without
// has() or .?: in Kubernetes nearly all fields are optional.
func (r *Program) Check(schema *spec.Schema) []policy.Problem {
	if schema == nil {
		return nil
	}
	typed := r.compiler.typed(r.source.variables, func(provider *openapi.Types) []cel.EnvOption {
		// Variables used by other rules of the policy may read any context variable.
		return append(declareContextVars(), cel.Variable(syntax.ObjectVariable, provider.TypeOf(schema, syntax.ObjectVariable)))
	})
	var problems []policy.Problem
	isUnsure := func(f diagnose.Finding) bool { return f.Unsure }
	for i, v := range r.source.variables {
		found := slices.DeleteFunc(typed.findings[v.Name], isUnsure)
		problems = append(problems, diagnose.Problems(fmt.Sprintf("spec.variables[%d].expression", i), v.Expression, found)...)
	}
	for _, e := range r.source.expressions() {
		_, findings := r.compiler.checked(e.text, e.wants, typed.scope)
		if e.wants == start && len(findings) == 0 {
			findings = typed.scope.noTime(e.text, schema)
		}
		if e.wants == grouping && len(findings) == 0 {
			findings = typed.scope.oneGroup(e.text)
		}
		problems = append(problems, diagnose.Problems(e.path(r.source.path), e.text, slices.DeleteFunc(findings, isUnsure))...)
	}
	return problems
}

// checked type-checks the text and returns its type, or the dynamic type if there are findings.
func (c *Compiler) checked(text string, wants result, s *scope) (t *cel.Type, findings []diagnose.Finding) {
	defer recoverAs(&findings)
	if types, ok := s.env.CELTypeProvider().(*openapi.Types); ok {
		types.Forget()
	}
	t = cel.DynType
	checked, findings := c.check(text, wants, s)
	if checked != nil {
		t = checked.OutputType()
	}
	return t, findings
}

// oneGroup finds a groupBy that returns the same value for all objects.
func (s *scope) oneGroup(text string) []diagnose.Finding {
	parsed, issues := s.env.Parse(text)
	if len(issues.Errors()) > 0 || !syntax.IsConstant(parsed.NativeRep().Expr()) {
		return nil
	}
	hint := grouping.example()
	if key, isText := syntax.StringLiteral(parsed.NativeRep().Expr()); isText && isName.MatchString(key) {
		hint = fmt.Sprintf("write object.metadata.?labels[?'%s'].orValue('')", key)
	}
	return diagnose.Whole("all objects are in one group", hint)
}

var isName = regexp.MustCompile(`^\w[\w./-]*$`)

// looksLikeTime matches the usual names of fields that hold a time. Many CustomResourceDefinitions do not state their
// format.
var looksLikeTime = regexp.MustCompile(`(?i)(time|timestamp|date|at|since|until|expir\w*|\w+ed)$`)

// noTime finds a startTime that reads a string field of the object whose name does not look like a time.
func (s *scope) noTime(text string, schema *spec.Schema) []diagnose.Finding {
	parsed, issues := s.env.Parse(text)
	if len(issues.Errors()) > 0 {
		return nil
	}
	path := syntax.Path(parsed.NativeRep().Expr())
	steps := strings.Split(path, ".")
	if steps[0] != syntax.ObjectVariable || looksLikeTime.MatchString(path) {
		return nil
	}
	for _, step := range steps[1:] {
		field, isThere := schema.Properties[step]
		if !isThere {
			return nil
		}
		schema = &field
	}
	if !schema.Type.Contains("string") || len(schema.Type) != 1 || schema.Format != "" {
		return nil
	}
	return diagnose.Whole(path+" is a string, not a time", start.example())
}
