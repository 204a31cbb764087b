// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
)

// Problem is one mistake in a policy, described for its author.
type Problem struct {
	Path string `json:"path,omitempty"` // field path, such as spec.rules[0].eligible

	// Line and Column are the place inside Expression, which is CEL. Both count from 1. Line is 0 if the problem is outside of an
	// expression.
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Message    string `json:"message"`        // what is wrong, lower case, no full stop
	Hint       string `json:"hint,omitempty"` // what to write instead; empty if Message says it all
	Expression string `json:"expression,omitempty"`
}

// String is the problem on one line: path, place, message, hint.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Lines returns each problem on one line.
func Lines(problems []Problem) (lines []string) {
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}

// Shortlist returns the first texts of a list. If there are more than most, it adds their number, such as "and 3 more rules"
// if the suffix is " rules".
func Shortlist(texts []string, most int, suffix string) []string {
	if more := len(texts) - most; more > 0 {
		return append(texts[:most:most], fmt.Sprintf("and %d more%s", more, suffix))
	}
	return texts
}

// Snippet is the line of the expression with a caret below the place, both indented by two spaces. It is empty for a
// problem outside of an expression.
func (p Problem) Snippet() string {
	lines := strings.Split(p.Expression, "\n")
	if p.Line < 1 || p.Line > len(lines) {
		return ""
	}
	line := lines[p.Line-1]
	var pad strings.Builder
	for i, r := range []rune(line) {
		if i >= p.Column-1 {
			break
		}
		if r == '\t' {
			pad.WriteRune('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return "  " + line + "\n  " + pad.String() + "^"
}
