package engine

import (
	"fmt"
	"regexp"
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
	names names
	scope *scope
}

// complaint is one error of cel-go: its text and its position.
type complaint struct {
	words      string
	caught     []string // the groups that the pattern matched
	line       int      // from 1
	column     int      // from 0, in characters
	expression int64
}

// remedy rewrites the complaints that match its pattern. cel-go distinguishes its errors by their text alone, see
// https://github.com/google/cel-go/blob/v0.31.0/checker/errors.go. Only this table depends on the texts, and
// TestProblemsOfExpressions compares it with the library.
type remedy struct {
	pattern *regexp.Regexp
	explain func(*diagnosis, complaint) finding
}

var remedies = []remedy{
	{regexp.MustCompile(`^undeclared reference to '(.*)' \(in container`), (*diagnosis).unknownName},
	{regexp.MustCompile(`^found no matching overload for '(.*?)' applied to '(.*)'$`), (*diagnosis).noOverload},
	{regexp.MustCompile(`^invalid duration argument`), (*diagnosis).badDuration},
	{regexp.MustCompile(`^invalid timestamp argument`), (*diagnosis).badTime},
	{regexp.MustCompile(`^invalid matches argument`), (*diagnosis).badRegex},
	{regexp.MustCompile(`^invalid argument to has\(\) macro`), (*diagnosis).badHas},
	{regexp.MustCompile(`^comprehension exceeds nesting limit`), says("too many nested loops: all, exists, map, filter and other loop macros nest at most two levels deep", "")},
	{regexp.MustCompile(`^expression code point size exceeds limit`), says(fmt.Sprintf("the expression is longer than %d characters", MaxExpressionSize), "")},
	{regexp.MustCompile(`^expression recursion limit exceeded`), says(fmt.Sprintf("nested too deeply: calls, operators and parentheses nest at most %d levels deep", MaxDepth), "")},
	{regexp.MustCompile(`^expression (node )?count exceeds limit`), says(fmt.Sprintf("too large: at most %d names, values and calls after macros are expanded", MaxNodes), "")},
	{regexp.MustCompile(`^reserved identifier: (.*)`), (*diagnosis).reserved},
	{regexp.MustCompile(`^expected type '(.*)' but found '(.*)'$`), (*diagnosis).mixedTypes},
	{regexp.MustCompile(`^expression of type '(.*)' cannot be range of a comprehension`), (*diagnosis).noRange},
	{regexp.MustCompile(`^type '(.*)' does not support field selection$`), (*diagnosis).noFields},
	{regexp.MustCompile(`^undefined field '(.*)'`), (*diagnosis).undefinedField},
	{regexp.MustCompile(`^Syntax error: (?s)(.*)`), (*diagnosis).syntax},
}

func says(message, hint string) func(*diagnosis, complaint) finding {
	return func(*diagnosis, complaint) finding { return finding{message: message, hint: hint} }
}

// mostFindings limits the findings of one expression.
const mostFindings = 20

// explain returns one finding for each mistake of the author, ordered by position, and at most mostFindings.
func (d *diagnosis) explain(issues *cel.Issues) []finding {
	var findings []finding
	known, unreadable := d.consequences(issues), false
	for _, e := range issues.Errors() {
		if len(findings) == mostFindings {
			break
		}
		if known[e.ExprID] || unreadable && (strings.HasPrefix(e.Message, "Syntax error") || strings.HasPrefix(e.Message, "reserved identifier")) {
			continue
		}
		c := complaint{words: e.Message, line: e.Location.Line(), column: max(e.Location.Column(), 0), expression: e.ExprID}
		f := d.finding(c)
		unreadable = unreadable || strings.HasPrefix(f.message, syntaxMessage) // later errors have the same cause, and looking for it takes time
		if !slices.ContainsFunc(findings, func(other finding) bool { return sameSlip(f, other) }) {
			findings = append(findings, f)
		}
	}
	slices.SortStableFunc(findings, func(a, b finding) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	return findings
}

// consequences returns the expressions whose errors follow from another error: the arguments of an unknown loop macro,
// where the loop variable is an unknown name, and calls on a value that exists only in other languages.
func (d *diagnosis) consequences(issues *cel.Issues) map[int64]bool {
	inside := map[int64]bool{}
	for _, e := range issues.Errors() {
		call := d.call(complaint{expression: e.ExprID})
		if call != nil && otherValues[d.beginOf(call)] != "" {
			inside[e.ExprID] = true
		}
		if call == nil || macroHints[call.AsCall().FunctionName()] == "" && otherLoops[call.AsCall().FunctionName()] == "" {
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

// beginOf returns the name at the start of a chain of calls and fields; empty if there is none.
func (d *diagnosis) beginOf(e ast.Expr) string {
	switch {
	case e.Kind() == ast.IdentKind:
		return e.AsIdent()
	case e.Kind() == ast.SelectKind:
		return d.beginOf(e.AsSelect().Operand())
	case e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction():
		return d.beginOf(e.AsCall().Target())
	}
	return ""
}

// sameSlip reports whether one mistake caused both findings. The parser and the checker continue after an error and
// report follow-up errors. A key without quotes causes an error for each of its parts.
func sameSlip(a, b finding) bool {
	return a.message == b.message && a.hint == b.hint && a.hint == clockHint ||
		a.hint == b.hint && strings.HasPrefix(a.hint, keyHintBegins) ||
		strings.HasPrefix(a.message, syntaxMessage) && strings.HasPrefix(b.message, syntaxMessage) ||
		a == b
}

func (d *diagnosis) finding(c complaint) finding {
	f := finding{message: syntax.TypeName(c.words)}
	for _, r := range remedies {
		if caught := r.pattern.FindStringSubmatch(c.words); caught != nil {
			c.caught = caught
			f = r.explain(d, c)
			break
		}
	}
	f.unsure = mayWork(c.words) && f.message != absentMessage
	if f.line == 0 {
		f.line, f.column = max(c.line, 1), d.nameStart(c)+1
	}
	return f
}

// nameStart returns the column where the name of a function begins, for a complaint that points at its opening
// parenthesis.
func (d *diagnosis) nameStart(c complaint) int {
	lines := strings.Split(d.text, "\n")
	if c.line < 1 || c.line > len(lines) {
		return c.column
	}
	line := []rune(lines[c.line-1])
	if c.column >= len(line) || line[c.column] != '(' {
		return c.column
	}
	return syntax.NameStart(line, c.column)
}

// after returns the text from the position of the complaint to the end.
func (d *diagnosis) after(c complaint) string {
	lines := strings.SplitAfter(d.text, "\n")
	if c.line < 1 || c.line > len(lines) {
		return ""
	}
	line := []rune(lines[c.line-1])
	return string(line[min(c.column, len(line)):]) + strings.Join(lines[c.line:], "")
}

// before returns the line up to the position of the complaint.
func (d *diagnosis) before(c complaint) string {
	lines := strings.Split(d.text, "\n")
	if c.line < 1 || c.line > len(lines) {
		return ""
	}
	line := []rune(lines[c.line-1])
	return string(line[:min(c.column, len(line))])
}

// lint finds expressions that cel-go accepts and Sunset rejects.
func (d *diagnosis) lint() []finding {
	var findings []finding
	add := func(e ast.Expr, message, hint string) {
		at := d.tree.SourceInfo().GetStartLocation(e.ID())
		findings = append(findings, finding{message: message, hint: hint, line: at.Line(), column: at.Column() + 1})
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
				if message, hint := find(e, d); message != "" {
					add(e, message, hint)
				}
			}
		}
	}
	return findings
}
