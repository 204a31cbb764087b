package engine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// noOverload explains a function or operator that does not take these types.
func (d *diagnosis) noOverload(c complaint) finding {
	function, args := c.caught[1], typeName(c.caught[2])
	symbol, isOperator := operators.FindReverse(function)
	switch {
	case (symbol == "==" || symbol == "!=") && d.absence(c) != "":
		return finding{message: absentMessage, hint: "write " + d.absence(c)}
	case symbol == "in":
		return finding{message: "in does not take " + args, hint: cmp.Or(d.valueHint(c), "write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed']")}
	case isOperator && strings.Contains(c.caught[2], "optional_type("):
		return finding{message: fmt.Sprintf("%s does not take %s", cmp.Or(symbol, conditional), args), hint: cmp.Or(d.operandHint(c), d.valueHint(c),
			"what .? and [?] give may be missing: say what counts then, such as object.status.?failed.orValue(0) > 0")}
	case isOperator && symbol != "":
		f := finding{message: fmt.Sprintf("%s does not take %s", symbol, args), hint: d.operandHint(c)}
		has := func(name string) bool { return strings.Contains(args, name) }
		switch {
		case f.hint != "":
		case bareDate.MatchString(d.code()):
			f.hint = fmt.Sprintf("a date stands in quotes: '%s'", bareDate.FindString(d.code()))
		case has("string") && (has("timestamp") || has("duration") && (symbol == "+" || symbol == "-")):
			f.hint = "a time in an object is text: convert it, such as timestamp(object.metadata.creationTimestamp)"
		case has("duration") && !has("timestamp"):
			f.hint = "a span of time is a duration, such as duration('1h') or days(7), and no number or text"
		case has("Quantity"):
			f.hint = "quantities have functions, such as quantity('2Gi').isGreaterThan(quantity('1Gi'))"
		case has("double") && has("int") && slices.Contains([]string{"+", "-", "*", "/"}, symbol):
			f.hint = "numbers of two types do not calculate: write double(...) around the whole number"
		case symbol == "==" || symbol == "!=":
			f.hint = "only values of one type can be equal: text stands in quotes, numbers do not"
		}
		return f
	case isOperator && function == operators.Conditional:
		return finding{message: conditional + " does not take " + args, hint: "the condition is true or false, and both values are of one type"}
	case isOperator && d.conditionOf(c) != "":
		return finding{message: "a list has elements by number alone", hint: "write " + d.conditionOf(c)}
	case isOperator:
		return finding{message: "brackets do not take " + args, hint: "a list has elements by number, such as object.spec.containers[0], and a map by key, such as object.metadata.labels['app']"}
	}
	receiver, arguments, isMember := strings.Cut(args, ".(")
	f := finding{message: fmt.Sprintf("%s() does not take %s", function, args), hint: cmp.Or(d.inCEL(function, c), d.used(function, c))}
	switch {
	case isMember && arguments == ")":
		f.message = function + "() lacks its arguments"
	case isMember:
		f.message = fmt.Sprintf("%s has no %s(%s", receiver, function, arguments)
	case args == "()":
		f.message = function + "() lacks its arguments"
	}
	switch texts := d.textsOf(d.call(c)); {
	case strings.Contains(c.caught[2], "optional_type(") && d.valueHint(c) != "":
		f.hint = d.valueHint(c)
	case receiver == "string" && d.converted(function, arguments, c) != "":
		f.message, f.hint = fmt.Sprintf("string has no %s(%s", function, arguments), "write "+d.converted(function, arguments, c)
	case function == "duration" && args == "(int)" && len(texts) == 1:
		f.hint = fmt.Sprintf("write duration(string(%s) + 's')", texts...)
	case function == "days" && args == "(string)" && len(texts) == 1 && isNumber.MatchString(strings.Trim(texts[0].(string), "'")):
		f.hint = fmt.Sprintf("write days(%s)", strings.Trim(texts[0].(string), "'"))
	case slices.Contains(ourNames(), function):
		f.hint = "write " + signatureOf(function)
	case function == "contains" && len(texts) == 2 && (strings.HasPrefix(receiver, "list(") || strings.HasPrefix(receiver, "map(")):
		f.hint = fmt.Sprintf("write %[2]s in %[1]s", texts...)
	}
	return f
}

const conditional = "CONDITION ? VALUE : OTHER"

// valueHint says how to make a value of the first operand that is optional; empty where none is.
func (d *diagnosis) valueHint(c complaint) string {
	call := d.call(c)
	if call == nil {
		return ""
	}
	operands := call.AsCall().Args()
	if call.AsCall().IsMemberFunction() {
		operands = append([]ast.Expr{call.AsCall().Target()}, operands...)
	}
	function := functionOf(call)
	for i, t := range typesIn(strings.Replace(strings.Replace(typeName(c.caught[2]), ".()", "", 1), ".(", ", ", 1)) {
		if !strings.HasPrefix(strings.TrimPrefix(t, "("), "optional(") || i >= len(operands) || len(asWritten(operands[i], d.tree.SourceInfo())) > longestHint {
			continue
		}
		text := asWritten(operands[i], d.tree.SourceInfo())
		switch {
		case function == operators.LogicalNot || function == operators.Conditional:
			text += ".orValue(false)"
		case function == "size" || function == operators.In && i == 1:
			text += ".orValue([])"
		case slices.Contains([]string{"timestamp", "duration", "int", "double", "quantity", "days"}, function):
			text += ".optMap(v, " + function + "(v))"
		default:
			text += ".orValue('')"
		}
		return "what .? and [?] give may be missing: say what counts then, such as " + text
	}
	return ""
}

// noRange explains a loop over what has no elements.
func (d *diagnosis) noRange(c complaint) finding {
	f := finding{message: "a loop goes over a list or a map, and this is " + typeName(c.caught[1])}
	if path := d.fieldOf(c); strings.HasPrefix(c.caught[1], "optional_type(") && path != "" {
		f.hint = "say what counts where it is missing: add .orValue([])"
	}
	return f
}

// converters are the functions that make values of types out of text.
var converters = map[string]string{"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "kubernetes.Quantity": "quantity",
	"kubernetes.Semver": "semver", "kubernetes.URL": "url", "kubernetes.IP": "ip", "kubernetes.CIDR": "cidr"}

// converted is a call on a text as it should be: on what the text stands for. It is empty if no type has such a function.
func (d *diagnosis) converted(function, arguments string, c complaint) string {
	declared, texts := d.scope.env.Functions()[function], d.textsOf(d.call(c))
	if declared == nil || len(texts) == 0 {
		return ""
	}
	for _, overload := range declared.OverloadDecls() {
		if !overload.IsMemberFunction() || converters[overload.ArgTypes()[0].TypeName()] == "" {
			continue
		}
		var types []string
		for _, t := range overload.ArgTypes()[1:] {
			types = append(types, typeName(cel.FormatCELType(t)))
		}
		if strings.Join(types, ", ")+")" == arguments {
			texts[0] = converters[overload.ArgTypes()[0].TypeName()] + "(" + texts[0].(string) + ")"
			return callOf(function, true, texts)
		}
	}
	return ""
}

// conditionOf is object.status.conditions['Complete'] as a rule asks for it; empty for anything else.
func (d *diagnosis) conditionOf(c complaint) string {
	call := d.call(c)
	if functionOf(call) != operators.Index || pathOf(call.AsCall().Args()[0]) != conditionsPath {
		return ""
	}
	name, isText := literalOf(call.AsCall().Args()[1])
	if !isText {
		return ""
	}
	return fmt.Sprintf("condition(object, '%s')", name)
}

// bareDate is a date without quotes, which CEL subtracts.
var bareDate = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)

func (d *diagnosis) mixedTypes(c complaint) finding {
	if f, found := d.noCondition(c); found {
		return f
	}
	return finding{
		message: fmt.Sprintf("%s beside %s: the elements of a list or map have one type", typeName(c.caught[2]), typeName(c.caught[1])),
		hint:    "dyn(...) around each makes it one",
	}
}

// noCondition explains x == 'a' || 'b', and other values where a condition stands.
func (d *diagnosis) noCondition(c complaint) (f finding, found bool) {
	var compared ast.Expr // the first comparison that is a part of the condition
	ast.PreOrderVisit(d.tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		function := functionOf(e)
		if found || !slices.Contains([]string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot}, function) {
			return
		}
		for _, part := range partsOf(e, function) {
			if compared == nil && chained[function] == functionOf(part) {
				compared = part
			}
			if part.ID() == c.expression {
				symbol, _ := operators.FindReverse(function)
				text := asWritten(part, d.tree.SourceInfo())
				f.message, found = fmt.Sprintf("%s takes conditions, and %s is of type %s", symbol, text, typeName(c.caught[2])), true
			}
		}
		if !found {
			compared = nil
		}
	}))
	if found && strings.HasPrefix(c.caught[2], "optional_type(") {
		f.hint = "write " + asWritten(d.expression(c), d.tree.SourceInfo()) + ".orValue(false)"
	} else if texts := d.textsOf(compared); found && texts != nil {
		symbol, _ := operators.FindReverse(functionOf(compared))
		f.hint = fmt.Sprintf("write %s %s %s", texts[0], symbol, asWritten(d.expression(c), d.tree.SourceInfo()))
	}
	return f, found
}

// chained are the comparisons with one value that it makes sense to join.
var chained = map[string]string{operators.LogicalOr: operators.Equals, operators.LogicalAnd: operators.NotEquals}

// partsOf are the operands of a row of one operator.
func partsOf(e ast.Expr, function string) (parts []ast.Expr) {
	if functionOf(e) != function {
		return []ast.Expr{e}
	}
	for _, arg := range e.AsCall().Args() {
		parts = append(parts, partsOf(arg, function)...)
	}
	return parts
}
