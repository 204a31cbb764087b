// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// wildcard finds names and labels that are compared with a string that contains *. Names and labels cannot contain *,
// so the result of the comparison is always the same.
func wildcard(e ast.Expr, d *diagnosis) (message, hint string) {
	function := syntax.Function(e)
	if !slices.Contains([]string{operators.Equals, operators.NotEquals, operators.In}, function) {
		return "", ""
	}
	args := e.AsCall().Args()
	compared, candidates := args[0], []ast.Expr{args[1]}
	if _, ok := syntax.StringLiteral(args[0]); ok && function != operators.In {
		compared, candidates = args[1], []ast.Expr{args[0]}
	}
	if args[1].Kind() == ast.ListKind {
		candidates = args[1].AsList().Elements()
	}
	if !isNameOrLabel(compared) {
		return "", ""
	}
	if f := syntax.Function(compared); f == "orValue" && slices.ContainsFunc(candidates, func(e ast.Expr) bool { return isSameText(e, compared.AsCall().Args()[0]) }) {
		return "", "" // the default for a missing label
	}
	written, isWildcard := syntax.Format(compared, d.tree.SourceInfo()), false
	var each []string
	for _, candidate := range candidates {
		text, _ := syntax.StringLiteral(candidate)
		if isWildcard = isWildcard || strings.Contains(text, "*"); strings.Contains(text, "*") {
			each = append(each, map[bool]string{true: "!"}[function == operators.NotEquals]+written+matching(text))
		} else {
			each = append(each, written+" == "+syntax.Format(candidate, d.tree.SourceInfo()))
		}
	}
	if !isWildcard {
		return "", ""
	}
	instead := strings.Join(each, " || ")
	if len(each) > 1 {
		instead = "(" + instead + ")" // || has a lower precedence than operators that may surround it
	}
	symbol, _ := operators.FindReverse(function)
	return "names and labels cannot contain *: " + symbol + " compares whole strings", "write " + instead
}

func isSameText(a, b ast.Expr) bool {
	x, isText := syntax.StringLiteral(a)
	y, isToo := syntax.StringLiteral(b)
	return isText && isToo && x == y
}

// matching returns the function call that matches the pattern which a text with * was meant to be.
func matching(text string) string {
	begin, end := strings.CutSuffix(text, "*")
	switch inner, starts := strings.CutPrefix(begin, "*"); {
	case end && starts && !strings.Contains(inner, "*"):
		return fmt.Sprintf(".contains('%s')", inner)
	case end && !strings.Contains(begin, "*"):
		return fmt.Sprintf(".startsWith('%s')", begin)
	case starts && !strings.Contains(inner, "*"):
		return fmt.Sprintf(".endsWith('%s')", inner)
	}
	return fmt.Sprintf(".matches(r'^%s$')", strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*"))
}

// isNameOrLabel reports whether an expression is a name or a label of the object.
func isNameOrLabel(e ast.Expr) bool {
	if f := syntax.Function(e); f == "orValue" {
		return isNameOrLabel(e.AsCall().Target())
	} else if f == operators.Index || f == operators.OptIndex {
		return syntax.Path(e.AsCall().Args()[0]) == "object.metadata.labels"
	}
	path := syntax.Path(e)
	return slices.Contains([]string{"object.metadata.name", "object.metadata.namespace", "object.metadata.generateName"}, path) ||
		strings.HasPrefix(path, "object.metadata.labels.")
}

// orders are the operators that compare strings alphabetically.
var orders = []string{operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals}

var isTimeField = regexp.MustCompile(`(Time|Timestamp)$`)

// asText finds a comparison by order with a string that is a number or a quantity: '9' sorts after '10', and '512Mi'
// after '1Gi'.
func asText(e ast.Expr, d *diagnosis) (message, hint string) {
	function := syntax.Function(e)
	if !slices.Contains(orders, function) {
		return "", ""
	}
	args, symbol := e.AsCall().Args(), strings.Trim(function, "_")
	for i, arg := range args {
		text, isText := syntax.StringLiteral(arg)
		if !isText || !isQuantity.MatchString(text) {
			continue
		}
		if isNumber.MatchString(text) && isTimeField.MatchString(syntax.Path(args[1-i])) {
			continue // the order of times in RFC 3339 is alphabetical
		}
		return fmt.Sprintf("%s compares strings alphabetically, but '%s' is a number", symbol, text), d.asNumbers(e, i, text)
	}
	return "", ""
}

// ofQuantities matches maps of quantities. Their values may have a unit even if the rule compares them with a number
// without one.
var ofQuantities = regexp.MustCompile(`\b(requests|limits|capacity|allocatable|allocatedResources|hard|used)\b`)

// asNumbers returns a hint for comparing a string as a number. comparison uses one of the orders. Its operand i is
// number, written with or without quotes, and its other operand is the string.
func (d *diagnosis) asNumbers(comparison ast.Expr, i int, number string) string {
	symbol := strings.Trim(syntax.Function(comparison), "_")
	text := syntax.Format(comparison.AsCall().Args()[1-i], d.tree.SourceInfo())
	if sides := []string{number, number}; isNumber.MatchString(number) && !strings.Contains(number, ".") && !ofQuantities.MatchString(text) {
		sides[1-i] = "int(" + text + ")"
		return fmt.Sprintf("write %s %s %s", sides[0], symbol, sides[1])
	}
	sides := []string{"quantity('" + number + "')", "quantity('" + number + "')"}
	sides[1-i] = "quantity(" + text + ")"
	return fmt.Sprintf("write %s.compareTo(%s) %s 0", sides[0], sides[1], symbol)
}
