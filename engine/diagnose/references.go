// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	referrerType   = syntax.ReferencesVariable + "/by[]" // the name of its type
	referencesHint = "references has count, and by, a list whose elements have kind, namespace and name: " +
		"write references.count == 0, or references.by.exists(r, r.kind == 'Pod')"
)

var (
	referencesFields = []string{"count", "by"}
	referrerFields   = []string{"kind", "namespace", "name"}
)

// ReferenceVariables declares the variables of a rule that reads references, with the type of references.
func ReferenceVariables(types *openapi.Types) []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable(syntax.ObjectVariable, cel.DynType),
		cel.Variable(syntax.NodeVariable, cel.DynType),
		cel.Variable(syntax.ReferencesVariable, types.TypeOf(referencesSchema(), syntax.ReferencesVariable)),
	}
}

// References returns the findings about references in a text that compiles without their types. check checks the text
// in env, in which references has its type. At run time such a mistake would be an error or, worse, return the same
// result for used and for unused objects.
func References(env *cel.Env, text string, check func() (*cel.Ast, []Finding)) []Finding {
	parsed, issues := env.Parse(text)
	if len(issues.Errors()) > 0 {
		return nil // reported already
	}
	if findings := unselectedReferences(parsed.NativeRep()); len(findings) > 0 {
		return findings
	}
	checked, findings := check()
	if checked != nil {
		return testedReferrers(checked.NativeRep())
	}
	for i := range findings {
		findings[i] = aboutReferencesField(findings[i])
	}
	return findings
}

// referencesSchema has all fields of the variable references.
func referencesSchema() *spec.Schema {
	referrer := map[string]spec.Schema{}
	for _, name := range referrerFields {
		referrer[name] = *spec.StringProperty()
	}
	one := record(referrer)
	schema := record(map[string]spec.Schema{"count": *spec.Int64Property(), "by": *spec.ArrayProperty(&one)})
	return &schema
}

// unselectedReferences finds references without one of its fields: used as a whole, or tested for a field. Loop variables cannot
// have its name, because the compiler rejects them.
func unselectedReferences(tree *ast.AST) []Finding {
	fields, tested := map[int64]bool{}, map[int64]bool{}
	var findings []Finding
	for e := range syntax.All(tree.Expr()) {
		if operand, _, ok := testOf(e); ok {
			tested[operand.ID()] = true
		} else if e.Kind() == ast.SelectKind {
			fields[e.AsSelect().Operand().ID()] = true
		}
		if e.Kind() != ast.IdentKind || strings.TrimPrefix(e.AsIdent(), ".") != syntax.ReferencesVariable || fields[e.ID()] {
			continue
		}
		message := "references cannot be used without one of its fields"
		if tested[e.ID()] {
			message = "the fields of references are always present"
		}
		findings = append(findings, findingAt(tree, e, message, referencesHint))
	}
	return findings
}

// testedReferrers finds tests for a field of an element of references.by.
func testedReferrers(tree *ast.AST) []Finding {
	var findings []Finding
	for e := range syntax.All(tree.Expr()) {
		operand, field, ok := testOf(e)
		if !ok || tree.GetType(operand.ID()).TypeName() != referrerType {
			continue
		}
		hint := "use it without ? and has()"
		if field == "namespace" {
			hint += "; it is '' for objects without a namespace"
		}
		findings = append(findings, findingAt(tree, operand, "field "+field+" of a referring object is always present", hint))
	}
	return findings
}

// testOf returns the operand and the field if an expression tests for a field with has() or .?.
func testOf(e ast.Expr) (operand ast.Expr, field string, ok bool) {
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	}
	if syntax.Function(e) == operators.OptSelect {
		args := e.AsCall().Args()
		field, _ = syntax.StringLiteral(args[1])
		return args[0], field, true
	}
	return nil, "", false
}

var fieldless = regexp.MustCompile(`^type '(.*)' does not support field selection$`)

// aboutReferencesField adds to a finding about a missing field which field to read instead.
func aboutReferencesField(f Finding) Finding {
	f.Message = strings.ReplaceAll(f.Message, referrerType, "referrer")
	if caught := unknownField.FindStringSubmatch(f.Message); caught != nil {
		parent, known := strings.TrimSuffix(f.Field, caught[1]), referrerFields
		if parent == syntax.ReferencesVariable+"." {
			known = referencesFields
		}
		f.Message, f.Hint = fmt.Sprintf("unknown field %q", caught[1]), ""
		if meant := policy.Closest(caught[1], known); meant != "" {
			f.Hint = fmt.Sprintf("did you mean %s%s?", parent, meant)
		}
	}
	if caught := fieldless.FindStringSubmatch(f.Message); caught != nil {
		f.Message = caught[1] + " has no fields"
	}
	if f.Hint == "" {
		f.Hint = referencesHint
	}
	return f
}
