package engine

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// conversions are functions that make something of a text, or give an error.
var conversions = []string{"bool", "cidr", "double", "int", "ip", "uint", "url"}

// isQuantity is how quantities are written. One that is too large to be used is one all the same.
var isQuantity = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`)

// failing is where a text is converted that cannot be, whatever the object is.
func failing(env *cel.Env, tree *ast.AST) (findings []finding) {
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 1 {
			return
		}
		arg := e.AsCall().Args()[0]
		text, isText := literalOf(arg)
		switch function := functionOf(e); {
		case !isText:
		case function == "quantity" && !isQuantity.MatchString(text):
			findings = append(findings, findingAt(tree, arg, fmt.Sprintf("'%s' is not a quantity", text),
				"write a number and a suffix, such as quantity('1G'), quantity('1Gi') or quantity('500m')"))
		case slices.Contains(conversions, function):
			if err := convert(env, tree, e); err != nil {
				findings = append(findings, findingAt(tree, arg, fmt.Sprintf("%s('%s') always fails: %v", function, text, err), ""))
			}
		}
	}))
	return findings
}

func convert(env *cel.Env, tree *ast.AST, call ast.Expr) error {
	part := ast.NewCheckedAST(ast.NewAST(call, tree.SourceInfo()), tree.TypeMap(), tree.ReferenceMap())
	options, _ := programOptions(env, call)
	program, err := env.PlanProgram(part, options...)
	if err == nil {
		_, _, err = program.Eval(cel.NoVars())
	}
	return err
}
