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
	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// conversions are the functions that convert a string or return an error.
var conversions = []string{"bool", "cidr", "double", "int", "ip", "uint", "url"}

// isQuantity matches the syntax of quantities. It also matches quantities that are too large to use.
var isQuantity = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`)

// alwaysFails returns findings about types and literals that are wrong for every object. These are strings that cannot be
// converted, calls of includes() on a string, which compare the whole string, and comparisons of an optional value with
// a value that is not optional.
func alwaysFails(env *cel.Env, tree *ast.AST) (findings []Finding) {
	for e := range syntax.All(tree.Expr()) {
		if syntax.Function(e) == "includes" && tree.GetType(e.AsCall().Target().ID()).Kind() == types.StringKind {
			call := callOf("contains", true, []any{syntax.Format(e.AsCall().Target(), tree.SourceInfo()), syntax.Format(e.AsCall().Args()[0], tree.SourceInfo())})
			findings = append(findings, findingAt(tree, e, "includes() is for lists: on a string it compares the whole string", "write "+call))
		}
		if f, found := neverEqual(tree, e); found {
			findings = append(findings, f)
		}
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 1 {
			continue
		}
		arg := e.AsCall().Args()[0]
		text, isText := syntax.StringLiteral(arg)
		switch function := syntax.Function(e); {
		case !isText:
		case function == "quantity" && !isQuantity.MatchString(text):
			findings = append(findings, findingAt(tree, arg, fmt.Sprintf("'%s' is not a quantity", text),
				"write a number and a suffix, such as quantity('1G'), quantity('1Gi') or quantity('500m')"))
		case slices.Contains(conversions, function):
			if err := convert(env, tree, e); err != nil {
				findings = append(findings, findingAt(tree, arg, fmt.Sprintf("%s('%s') always fails: %v", function, text, err), ""))
			}
		}
	}
	return findings
}

// neverEqual finds a comparison of an optional value with null or with a field of the object. They are never equal.
func neverEqual(tree *ast.AST, e ast.Expr) (f Finding, found bool) {
	function := syntax.Function(e)
	if function != operators.Equals && function != operators.NotEquals {
		return Finding{}, false
	}
	for i, arg := range e.AsCall().Args() {
		other, text := e.AsCall().Args()[1-i], syntax.Format(arg, tree.SourceInfo())
		if tree.GetType(arg.ID()).TypeName() != "optional_type" || len(text) > maxHintLength {
			continue
		}
		switch {
		case isNull(other):
			return findingAt(tree, e, "an optional value is never null", "write "+map[bool]string{true: "!"}[function == operators.Equals]+text+".hasValue()"), true
		case strings.HasPrefix(syntax.Path(other), syntax.ObjectVariable+".") && tree.GetType(other.ID()).TypeName() != "optional_type":
			hint := "set a default for a missing value: add .orValue(VALUE)"
			if t := syntax.TypeName(cel.FormatCELType(tree.GetType(arg.ID()))); t == "optional(any)" || t == "optional(string)" {
				hint = "set a default for a missing value, such as " + text + ".orValue('')"
			}
			return findingAt(tree, e, "an optional value and a value are never equal", hint), true
		}
	}
	return Finding{}, false
}

func isNull(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.NullType
}

// convert evaluates the conversion of a literal. It needs no budget, because an expression is short.
func convert(env *cel.Env, tree *ast.AST, call ast.Expr) error {
	program, err := env.PlanProgram(syntax.Part(tree, call))
	if err == nil {
		_, _, err = program.Eval(cel.NoVars())
	}
	return err
}
