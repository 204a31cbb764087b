package engine

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/policy"
)

// finding is a problem of an expression, wherever the expression stands. Lines and columns count from 1.
type finding struct {
	message, hint string
	line, column  int
	unsure        bool   // it is wrong by a schema, and may work all the same
	field         string // path of the field that is not there, such as object.spec.tag, if it is about one and has a path
}

// at is the finding as a problem of the expression at path.
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
	text, isText := literalOf(e)
	switch {
	case wants == lifetime && t.Kind() == cel.IntKind:
		hint = "days(7) is seven days, duration('90s') ninety seconds"
	case isText && strings.ContainsAny(text, "(."):
		hint = "an expression stands without quotes: " + text
	case wants == eligibility && t.TypeName() == "optional_type" && !wants.accepts(t.Parameters()[0]):
		hint = "ask whether there is a value: add .hasValue()"
	case wants == eligibility && t.TypeName() == "optional_type":
		hint = "say what counts where it is missing: add .orValue(false)"
	}
	return finding{
		message: fmt.Sprintf("gives %s, but %s must give %s", typeName(cel.FormatCELType(t)), wants.field(), wants.wants()),
		hint:    hint,
		line:    1, column: 1,
	}
}

// explainInlined tells of an expression that is fine but for what its variables add to it.
func explainInlined(issues *cel.Issues) []finding {
	var findings []finding
	for _, e := range issues.Errors() {
		findings = append(findings, finding{
			message: "with its variables written out: " + typeName(e.Message),
			hint:    "a variable that loops counts as a loop where it is used; at most two may stand inside each other",
			line:    1, column: 1,
		})
	}
	return findings
}
