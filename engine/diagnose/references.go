// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/openapi"
	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// relation is a variable about other objects.
type relation struct {
	name string
	list string // the field with a list of objects; empty for none
	hint string
}

var relations = []relation{
	{syntax.ReferencesVariable, "by", "references has count, and by, a list whose elements have kind, namespace and name: write " +
		"references.count == 0, or references.by.exists(r, r.kind == 'Pod')"},
	{syntax.TargetsVariable, "missing", "targets has count, and missing, a list whose elements have kind, namespace and name: write " +
		"targets.missing.exists(t, t.kind == 'Service')"},
	{syntax.SelectedVariable, "", "selected has count: write selected.count == 0"},
}

// referrerFields are the fields of an element of a list.
var referrerFields = []string{"kind", "namespace", "name"}

func relationNames() (names []string) {
	for _, r := range relations {
		names = append(names, r.name)
	}
	return names
}

// element is the name of the type of an element of the list.
func (r relation) element() string { return r.name + "/" + r.list + "[]" }

func (r relation) fields() []string {
	if r.list == "" {
		return []string{"count"}
	}
	return []string{"count", r.list}
}

// schema has all fields of the variable.
func (r relation) schema() *spec.Schema {
	object := map[string]spec.Schema{}
	for _, name := range referrerFields {
		object[name] = *spec.StringProperty()
	}
	one, fields := record(object), map[string]spec.Schema{"count": *spec.Int64Property()}
	if r.list != "" {
		fields[r.list] = *spec.ArrayProperty(&one)
	}
	schema := record(fields)
	return &schema
}

// ReferenceVariables declares the variables of a rule that reads references, targets or selected, with their types.
func ReferenceVariables(types *openapi.Types) []cel.EnvOption {
	all := []cel.EnvOption{
		cel.Variable(syntax.ObjectVariable, cel.DynType),
		cel.Variable(syntax.NodeVariable, cel.DynType),
	}
	for _, r := range relations {
		all = append(all, cel.Variable(r.name, types.TypeOf(r.schema(), r.name)))
	}
	return all
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

// unselectedReferences finds references without one of its fields: used as a whole, or tested for a field. An expression that has a
// loop variable with the name does not read it: the compiler rejects that.
func unselectedReferences(tree *ast.AST) []Finding {
	fields, tested, loops := map[int64]bool{}, map[int64]bool{}, map[string]bool{}
	var findings []Finding
	for e := range syntax.All(tree.Expr()) {
		if operand, _, ok := testOf(e); ok {
			tested[operand.ID()] = true
		} else if e.Kind() == ast.SelectKind {
			fields[e.AsSelect().Operand().ID()] = true
		}
		if e.Kind() == ast.ComprehensionKind {
			loops[e.AsComprehension().IterVar()], loops[e.AsComprehension().IterVar2()] = true, true
		}
		r := relationCalled(e)
		if r == nil || fields[e.ID()] || loops[r.name] {
			continue
		}
		message := r.name + " cannot be used without one of its fields"
		if tested[e.ID()] {
			message = "the fields of " + r.name + " are always present"
		}
		findings = append(findings, findingAt(tree, e, message, r.hint))
	}
	return findings
}

// relationCalled returns the variable that an expression names; nil for none.
func relationCalled(e ast.Expr) *relation {
	for i, r := range relations {
		if e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == r.name {
			return &relations[i]
		}
	}
	return nil
}

// testedReferrers finds tests for a field of an element of references.by or targets.missing.
func testedReferrers(tree *ast.AST) []Finding {
	var findings []Finding
	for e := range syntax.All(tree.Expr()) {
		operand, field, ok := testOf(e)
		if !ok {
			continue
		}
		of := tree.GetType(operand.ID()).TypeName()
		at := slices.IndexFunc(relations, func(r relation) bool { return r.element() == of })
		if at < 0 {
			continue
		}
		hint := "use it without ? and has()"
		if field == "namespace" {
			hint += "; it is '' for objects without a namespace"
		}
		message := fmt.Sprintf("each element of %s.%s has the field %s", relations[at].name, relations[at].list, field)
		findings = append(findings, findingAt(tree, operand, message, hint))
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
	of := relations[0]
	for _, r := range relations {
		if strings.HasPrefix(f.Field, r.name+".") || strings.Contains(f.Message, r.element()) {
			of = r
		}
		if r.list != "" {
			f.Message = strings.ReplaceAll(f.Message, r.element(), "referrer")
		}
	}
	if caught := unknownField.FindStringSubmatch(f.Message); caught != nil {
		parent, known := strings.TrimSuffix(f.Field, caught[1]), referrerFields
		if parent == of.name+"." {
			known = of.fields()
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
		f.Hint = of.hint
	}
	return f
}
