// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// diagnosis translates the errors of cel-go about an expression into what the author should write.
type diagnosis struct {
	text  string
	tree  *ast.AST // nil when the text does not parse
	scope *Scope
}

// celError is one error of cel-go: its text and its position.
type celError struct {
	words      string
	caught     []string // the groups that the pattern matched
	line       int      // from 1
	column     int      // from 0, in characters
	expression int64
}

// maxFindings limits the findings of one expression.
const maxFindings = 20

// findings returns one finding for each mistake of the author, ordered by position, and at most maxFindings.
func (d *diagnosis) findings(issues *cel.Issues) []Finding {
	var findings []Finding
	known, unparsable := d.consequences(issues), false
	for _, e := range issues.Errors() {
		if len(findings) == maxFindings {
			break
		}
		if known[e.ExprID] || unparsable && (strings.HasPrefix(e.Message, "Syntax error") || strings.HasPrefix(e.Message, "reserved identifier")) {
			continue
		}
		c := celError{words: e.Message, line: e.Location.Line(), column: max(e.Location.Column(), 0), expression: e.ExprID}
		f := d.translate(c)
		unparsable = unparsable || strings.HasPrefix(f.Message, syntaxMessage) // later errors have the same cause, and looking for it takes time
		if !slices.ContainsFunc(findings, func(other Finding) bool { return haveSameCause(f, other) }) {
			findings = append(findings, f)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return findings
}

// consequences returns the expressions whose errors follow from another error: the arguments of an unknown loop macro,
// where the loop variable is an unknown name, and calls on a value that exists only in other languages.
func (d *diagnosis) consequences(issues *cel.Issues) map[int64]bool {
	inside := map[int64]bool{}
	for _, e := range issues.Errors() {
		call := d.call(celError{expression: e.ExprID})
		if call != nil && foreignValues[d.rootName(call)] != "" {
			inside[e.ExprID] = true
		}
		if call == nil || macroHints[call.AsCall().FunctionName()] == "" && foreignLoops[call.AsCall().FunctionName()] == "" {
			continue
		}
		for _, arg := range call.AsCall().Args() {
			for e := range syntax.All(arg) {
				inside[e.ID()] = true
			}
		}
	}
	return inside
}

// rootName returns the name at the start of a chain of calls and fields; empty if there is none.
func (d *diagnosis) rootName(e ast.Expr) string {
	switch {
	case e.Kind() == ast.IdentKind:
		return e.AsIdent()
	case e.Kind() == ast.SelectKind:
		return d.rootName(e.AsSelect().Operand())
	case e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction():
		return d.rootName(e.AsCall().Target())
	}
	return ""
}

// haveSameCause reports whether one mistake caused both findings. The parser and the checker continue after an error and
// report follow-up errors. A key without quotes causes an error for each of its parts.
func haveSameCause(a, b Finding) bool {
	return a.Message == b.Message && a.Hint == b.Hint && a.Hint == clockHint ||
		a.Hint == b.Hint && strings.HasPrefix(a.Hint, keyHintBegins) ||
		strings.HasPrefix(a.Message, syntaxMessage) && strings.HasPrefix(b.Message, syntaxMessage) ||
		a == b
}

func (d *diagnosis) translate(c celError) Finding {
	f := Finding{Message: syntax.TypeName(c.words)}
	for _, t := range translations {
		if caught := t.pattern.FindStringSubmatch(c.words); caught != nil {
			c.caught = caught
			f = t.translate(d, c)
			break
		}
	}
	f.Unsure = mayWork(c.words) && f.Message != absentMessage
	if f.Line == 0 {
		f.Line, f.Column = max(c.line, 1), d.nameStart(c)+1
	}
	return f
}

// nameStart returns the column where the name of a function begins, for an error that points at its opening
// parenthesis.
func (d *diagnosis) nameStart(c celError) int {
	before, after := d.split(c)
	if !strings.HasPrefix(after, "(") {
		return c.column
	}
	line := []rune(before)
	return syntax.NameStart(line, len(line))
}

// split returns the line before the position of an error, and the text from the position to the end.
func (d *diagnosis) split(c celError) (before, after string) {
	lines := strings.SplitAfter(d.text, "\n")
	if c.line < 1 || c.line > len(lines) {
		return "", ""
	}
	line := []rune(lines[c.line-1])
	at := min(c.column, len(line))
	return string(line[:at]), string(line[at:]) + strings.Join(lines[c.line:], "")
}

// after returns the text from the position of an error to the end.
func (d *diagnosis) after(c celError) string {
	_, after := d.split(c)
	return after
}

// EvaluationError translates an error of an evaluation into the terms of docs/reference/cel.md and adds a hint.
func EvaluationError(err error) string {
	text := syntax.TypeName(err.Error())
	switch {
	case strings.Contains(text, "no such key: "):
		text += "; if the field can be absent, use .?field or has()"
	case strings.HasSuffix(text, "no such overload"):
		text += "; times in objects are strings: convert them, such as timestamp(object.metadata.creationTimestamp)"
	}
	return text
}
