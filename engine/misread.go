package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	referrerType   = syntax.ReferencesVariable + "/by[]" // the name that schemaTypes gives it
	referencesHint = "references has count, and by, a list whose elements have kind, namespace and name: " +
		"write references.count == 0, or references.by.exists(r, r.kind == 'Pod')"
)

var (
	referencesFields = []string{"count", "by"}
	referrerFields   = []string{"kind", "namespace", "name"}
)

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

// misreadings returns the problems of a rule that reads references, and of the variables that read them: fields that
// are missing, or that are read as another type. At run time such a mistake would be an error or, worse, return the
// same result for used and for unused objects.
func (r *Program) misreadings(d *declared) []policy.Problem {
	typed := d.under("references", func(provider *schemaTypes) []cel.EnvOption {
		return []cel.EnvOption{
			cel.Variable(syntax.ObjectVariable, cel.DynType),
			cel.Variable(syntax.NodeVariable, cel.DynType),
			cel.Variable(syntax.ReferencesVariable, provider.typeOf(referencesSchema(), syntax.ReferencesVariable)),
		}
	})
	if typed.err != nil {
		return []policy.Problem{{Path: r.source.path, Message: fmt.Sprintf("the schema of references cannot be used: %v", typed.err)}}
	}
	problems := d.misread(typed)
	for _, e := range r.source.expressions() {
		if c := r.compiler.expression(e.text, e.wants, d.scope); c.program.at[referencesExtra] != nil {
			problems = append(problems, problemsAt(e.path(r.source.path), e.text, r.compiler.misread(e.text, e.wants, typed.scope))...)
		}
	}
	return problems
}

// misread returns the findings about references in the variables. It computes them once for all rules.
func (d *declared) misread(t *typed) []policy.Problem {
	if t.misread == nil {
		t.misread = []policy.Problem{}
		for i, v := range d.scope.variables {
			if v.reads[referencesExtra] {
				t.misread = append(t.misread, problemsAt(fmt.Sprintf("spec.variables[%d].expression", i), v.text, d.compiler.misread(v.text, anything, t.scope))...)
			}
		}
	}
	return slices.Clone(t.misread)
}

// misread returns the findings about references in a text that compiles without their types.
func (c *Compiler) misread(text string, wants result, s *scope) (findings []finding) {
	defer recoverAs(&findings)
	parsed, issues := s.env.Parse(text)
	if len(issues.Errors()) > 0 {
		return nil // reported already
	}
	if findings := unselected(parsed.NativeRep()); len(findings) > 0 {
		return findings
	}
	checked, findings := c.check(text, wants, s)
	if checked != nil {
		return referrersTested(checked.NativeRep())
	}
	for i := range findings {
		findings[i] = aboutReferencesField(findings[i])
	}
	return findings
}

// unselected finds references without one of its fields: used as a whole, or tested for a field. Loop variables cannot
// have its name, because hidden rejects them.
func unselected(tree *ast.AST) []finding {
	fields, tested := map[int64]bool{}, map[int64]bool{}
	var findings []finding
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

// referrersTested finds tests for a field of an element of references.by.
func referrersTested(tree *ast.AST) []finding {
	var findings []finding
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
		field, _ = args[1].AsLiteral().Value().(string)
		return args[0], field, true
	}
	return nil, "", false
}

func findingAt(tree *ast.AST, e ast.Expr, message, hint string) finding {
	at := tree.SourceInfo().GetStartLocation(e.ID())
	return finding{message: message, hint: hint, line: at.Line(), column: at.Column() + 1}
}

var fieldless = regexp.MustCompile(`^type '(.*)' does not support field selection$`)

// aboutReferencesField adds to a finding about a missing field which field to read instead.
func aboutReferencesField(f finding) finding {
	f.message = strings.ReplaceAll(f.message, referrerType, "referrer")
	if caught := unknownField.FindStringSubmatch(f.message); caught != nil {
		parent, known := strings.TrimSuffix(f.field, caught[1]), referrerFields
		if parent == syntax.ReferencesVariable+"." {
			known = referencesFields
		}
		f.message, f.hint = fmt.Sprintf("unknown field %q", caught[1]), ""
		if meant := policy.Closest(caught[1], known); meant != "" {
			f.hint = fmt.Sprintf("did you mean %s%s?", parent, meant)
		}
	}
	if caught := fieldless.FindStringSubmatch(f.message); caught != nil {
		f.message = caught[1] + " has no fields"
	}
	if f.hint == "" {
		f.hint = referencesHint
	}
	return f
}

// misplaced returns the finding about an extra that the target does not have. If the target is nearly right, the hint
// shows the correct target.
func (r *Program) misplaced(x extra, f finding) finding {
	target := r.source.rule.Target
	if group := groupOf(target.APIVersion); x != referencesExtra || !slices.Contains([]string{"", "core"}, group) {
		return f
	}
	if kind := policy.Closest(target.Kind, []string{"ConfigMap", "Secret"}); kind != "" {
		f.message += fmt.Sprintf(", not about %s %s", target.APIVersion, target.Kind)
		f.hint = fmt.Sprintf("write target: {apiVersion: v1, kind: %s}", kind)
	}
	return f
}
