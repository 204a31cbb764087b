package engine

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

// finding is a problem of an expression, independent of the field that contains the expression. Lines and columns count
// from 1.
type finding struct {
	message, hint string
	line, column  int
	unsure        bool   // wrong according to a schema, but may work at run time
	field         string // path of the missing field, such as object.spec.tag, if the finding is about one and it has a path
}

// at returns the finding as a problem of the expression at path.
func (f finding) at(path, text string) policy.Problem {
	return policy.Problem{
		Path: path, Message: f.message, Hint: f.hint,
		Expression: text, Line: f.line, Column: f.column,
	}
}

func problemsAt(path, text string, findings []finding) []policy.Problem {
	var problems []policy.Problem
	for _, f := range findings {
		problems = append(problems, f.at(path, text))
	}
	return problems
}

func wrongResult(e ast.Expr, wants result, t *cel.Type) finding {
	hint := wants.example()
	text, isText := syntax.StringLiteral(e)
	switch {
	case wants == lifetime && t.Kind() == cel.IntKind:
		hint = "days(7) is seven days, duration('90s') ninety seconds"
	case isText && strings.ContainsAny(text, "(."):
		hint = "write the expression without quotes: " + text
	case wants == eligibility && t.TypeName() == "optional_type" && !wants.accepts(t.Parameters()[0]):
		hint = "to test whether there is a value, add .hasValue()"
	case wants == eligibility && t.TypeName() == "optional_type":
		hint = "set a default for a missing value: add .orValue(false)"
	}
	return finding{
		message: fmt.Sprintf("returns %s, but %s must return %s", syntax.TypeName(cel.FormatCELType(t)), wants.field(), wants.wants()),
		hint:    hint,
		line:    1, column: 1,
	}
}

// explainInlined returns the findings of an expression that is invalid only after its variables are expanded.
func explainInlined(issues *cel.Issues) []finding {
	var findings []finding
	for _, e := range issues.Errors() {
		findings = append(findings, finding{
			message: "after its variables are expanded: " + syntax.TypeName(e.Message),
			hint:    "a variable that contains a loop counts as a loop where it is used; loops nest at most two levels deep",
			line:    1, column: 1,
		})
	}
	return findings
}
