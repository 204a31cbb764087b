// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// Scope is what an expression can use.
type Scope struct {
	Env       *cel.Env
	Functions *Functions
	Variables []string // the variables of the policy that are declared before the expression
}

// Check parses and type-checks a text. It returns either the checked expression or findings. It panics where cel-go
// does.
func (s *Scope) Check(text string) (*cel.Ast, []Finding) {
	d := diagnosis{text: text, scope: s}
	parsed, issues := s.Env.Parse(text)
	if len(issues.Errors()) > 0 {
		return nil, d.findings(issues)
	}
	d.tree = parsed.NativeRep()
	if findings := d.lint(); len(findings) > 0 {
		return nil, findings
	}
	checked, issues := s.Env.Check(parsed)
	if len(issues.Errors()) > 0 {
		return nil, d.findings(issues)
	}
	if findings := alwaysFails(s.Env, checked.NativeRep()); len(findings) > 0 {
		return nil, findings
	}
	return checked, nil
}

// lint finds expressions that cel-go accepts and Sunset rejects, independent of types.
func (d *diagnosis) lint() []Finding {
	var findings []Finding
	add := func(e ast.Expr, message, hint string) {
		if message != "" {
			findings = append(findings, findingAt(d.tree, e, message, hint))
		}
	}
	for e := range syntax.All(d.tree.Expr()) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			c := e.AsComprehension()
			for _, name := range []string{c.IterVar(), c.IterVar2(), c.AccuVar()} {
				if name == syntax.ObjectVariable || name == syntax.VariablesVariable {
					add(e, "a loop variable cannot have the name "+name, "rename it, for example to o")
				}
			}
		case ast.SelectKind:
			s := e.AsSelect()
			if s.IsTestOnly() && s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == syntax.VariablesVariable {
				add(e, "variables are always present", "use variables."+s.FieldName()+" without has()")
			}
		case ast.CallKind:
			for _, find := range []func(ast.Expr, *diagnosis) (string, string){wildcard, asText} {
				message, hint := find(e, d)
				add(e, message, hint)
			}
		}
	}
	return findings
}
