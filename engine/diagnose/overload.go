// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// noOverload explains a function or operator that does not accept operands of these types.
func (d *diagnosis) noOverload(c celError) Finding {
	function, args := c.caught[1], syntax.TypeName(c.caught[2])
	symbol, isOperator := operators.FindReverse(function)
	switch {
	case (symbol == "==" || symbol == "!=") && d.absence(c) != "":
		return Finding{Message: absentMessage, Hint: "write " + d.absence(c)}
	case symbol == "in":
		return Finding{Message: "in does not accept " + args, Hint: cmp.Or(d.valueHint(c), "write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed']")}
	case isOperator && strings.Contains(c.caught[2], "optional_type("):
		return Finding{Message: fmt.Sprintf("%s does not accept %s", cmp.Or(symbol, conditional), args), Hint: cmp.Or(d.operandHint(c), d.valueHint(c),
			".? and [?] return optional values: set a default, such as object.status.?failed.orValue(0) > 0")}
	case isOperator && symbol != "":
		f := Finding{Message: fmt.Sprintf("%s does not accept %s", symbol, args), Hint: d.operandHint(c)}
		has := func(name string) bool { return strings.Contains(args, name) }
		switch {
		case f.Hint != "":
		case bareDate.MatchString(d.code()):
			f.Hint = fmt.Sprintf("put dates in quotes: '%s'", bareDate.FindString(d.code()))
		case has("string") && (has("timestamp") || has("duration") && (symbol == "+" || symbol == "-")):
			f.Hint = "times in objects are strings: convert them, such as timestamp(object.metadata.creationTimestamp)"
		case has("duration") && !has("timestamp"):
			f.Hint = "write a duration, such as duration('1h') or days(7), not a number or a string"
		case has("Quantity"):
			f.Hint = "compare quantities with functions, such as quantity('2Gi').isGreaterThan(quantity('1Gi'))"
		case has("double") && has("int") && slices.Contains([]string{"+", "-", "*", "/"}, symbol):
			f.Hint = "arithmetic needs numbers of one type: convert the integer with double(...)"
		case symbol == "==" || symbol == "!=":
			f.Hint = "only values of one type can be equal: put strings in quotes, but not numbers"
		}
		return f
	case isOperator && function == operators.Conditional:
		return Finding{Message: conditional + " does not accept " + args, Hint: "CONDITION must be a bool, and both values must have one type"}
	case isOperator && d.conditionOf(c) != "":
		return Finding{Message: "the index of a list must be a number", Hint: "write " + d.conditionOf(c)}
	case isOperator:
		return Finding{Message: "brackets do not accept " + args, Hint: "index a list by number, such as object.spec.containers[0], and a map by key, such as object.metadata.labels['app']"}
	}
	receiver, arguments, isMember := strings.Cut(args, ".(")
	f := Finding{Message: fmt.Sprintf("%s() does not accept %s", function, args), Hint: cmp.Or(d.inCEL(function, c), d.used(function, c))}
	switch {
	case isMember && arguments == ")":
		f.Message = function + "() needs arguments"
	case isMember:
		f.Message = fmt.Sprintf("%s has no %s(%s", receiver, function, arguments)
	case args == "()":
		f.Message = function + "() needs arguments"
	}
	switch texts := d.textsOf(d.call(c)); {
	case strings.Contains(c.caught[2], "optional_type(") && d.valueHint(c) != "":
		f.Hint = d.valueHint(c)
	case receiver == "string" && d.converted(function, arguments, c) != "":
		f.Message, f.Hint = fmt.Sprintf("string has no %s(%s", function, arguments), "write "+d.converted(function, arguments, c)
	case function == "duration" && args == "(int)" && len(texts) == 1:
		f.Hint = fmt.Sprintf("write duration(string(%s) + 's')", texts...)
	case function == "days" && args == "(string)" && len(texts) == 1 && isNumber.MatchString(strings.Trim(texts[0].(string), "'")):
		f.Hint = fmt.Sprintf("write days(%s)", strings.Trim(texts[0].(string), "'"))
	case d.scope.Functions.calls[function] != "":
		f.Hint = "write " + d.scope.Functions.calls[function]
	case function == "contains" && len(texts) == 2 && (strings.HasPrefix(receiver, "list(") || strings.HasPrefix(receiver, "map(")):
		f.Hint = fmt.Sprintf("write %[2]s in %[1]s", texts...)
	}
	return f
}

const conditional = "CONDITION ? VALUE : OTHER"

// noRange explains a loop over a value that has no elements.
func (d *diagnosis) noRange(c celError) Finding {
	f := Finding{Message: "a loop iterates over a list or a map, and this is " + syntax.TypeName(c.caught[1])}
	if path := d.fieldOf(c); strings.HasPrefix(c.caught[1], "optional_type(") && path != "" {
		f.Hint = "set a default for a missing value: add .orValue([])"
	}
	return f
}

// converters maps types to the functions that convert a string to them.
var converters = map[string]string{"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "kubernetes.Quantity": "quantity",
	"kubernetes.Semver": "semver", "kubernetes.URL": "url", "kubernetes.IP": "ip", "kubernetes.CIDR": "cidr"}

// converted returns a call on a string, rewritten as a call on the converted string. It is empty if no type has such a
// function.
func (d *diagnosis) converted(function, arguments string, c celError) string {
	declared, texts := d.scope.Env.Functions()[function], d.textsOf(d.call(c))
	if declared == nil || len(texts) == 0 {
		return ""
	}
	for _, overload := range declared.OverloadDecls() {
		if !overload.IsMemberFunction() || converters[overload.ArgTypes()[0].TypeName()] == "" {
			continue
		}
		var types []string
		for _, t := range overload.ArgTypes()[1:] {
			types = append(types, syntax.TypeName(cel.FormatCELType(t)))
		}
		if strings.Join(types, ", ")+")" == arguments {
			texts[0] = converters[overload.ArgTypes()[0].TypeName()] + "(" + texts[0].(string) + ")"
			return callOf(function, true, texts)
		}
	}
	return ""
}

// conditionOf returns how a rule tests the condition in object.status.conditions['Complete']; empty for any other
// expression.
func (d *diagnosis) conditionOf(c celError) string {
	call := d.call(c)
	if syntax.Function(call) != operators.Index || syntax.Path(call.AsCall().Args()[0]) != conditionsPath {
		return ""
	}
	name, isText := syntax.StringLiteral(call.AsCall().Args()[1])
	if !isText {
		return ""
	}
	return fmt.Sprintf("condition(object, '%s')", name)
}

// bareDate matches a date without quotes, which CEL reads as a subtraction.
var bareDate = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)

func (d *diagnosis) mixedTypes(c celError) Finding {
	if f, found := d.noCondition(c); found {
		return f
	}
	return Finding{
		Message: fmt.Sprintf("%s and %s: the elements of a list or map must have one type", syntax.TypeName(c.caught[2]), syntax.TypeName(c.caught[1])),
		Hint:    "wrap each element in dyn(...)",
	}
}

// noCondition explains x == 'a' || 'b', and other operands of a logical operator that are not of type bool.
func (d *diagnosis) noCondition(c celError) (f Finding, found bool) {
	var compared ast.Expr // the first comparison that is a part of the condition
	for e := range syntax.All(d.tree.Expr()) {
		function := syntax.Function(e)
		if found || !slices.Contains([]string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot}, function) {
			continue
		}
		for _, part := range partsOf(e, function) {
			if compared == nil && chained[function] == syntax.Function(part) {
				compared = part
			}
			if part.ID() == c.expression {
				symbol, _ := operators.FindReverse(function)
				text := syntax.Format(part, d.tree.SourceInfo())
				f.Message, found = fmt.Sprintf("the operands of %s must be conditions, but %s is of type %s", symbol, text, syntax.TypeName(c.caught[2])), true
			}
		}
		if !found {
			compared = nil
		}
	}
	if found && strings.HasPrefix(c.caught[2], "optional_type(") {
		f.Hint = "write " + syntax.Format(d.expression(c), d.tree.SourceInfo()) + ".orValue(false)"
	} else if texts := d.textsOf(compared); found && texts != nil {
		symbol, _ := operators.FindReverse(syntax.Function(compared))
		f.Hint = fmt.Sprintf("write %s %s %s", texts[0], symbol, syntax.Format(d.expression(c), d.tree.SourceInfo()))
	}
	return f, found
}

// chained maps a logical operator to the comparison that is usually chained with it.
var chained = map[string]string{operators.LogicalOr: operators.Equals, operators.LogicalAnd: operators.NotEquals}

// partsOf returns the operands of a chain of one operator.
func partsOf(e ast.Expr, function string) (parts []ast.Expr) {
	if syntax.Function(e) != function {
		return []ast.Expr{e}
	}
	for _, arg := range e.AsCall().Args() {
		parts = append(parts, partsOf(arg, function)...)
	}
	return parts
}
