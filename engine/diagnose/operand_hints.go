// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// typesIn returns the types in an error about a call, such as (string, map(string, string)).
func typesIn(list string) (all []string) {
	depth, begin := 0, 0
	list = strings.Trim(list, " ")
	list = strings.TrimSuffix(strings.TrimPrefix(list, "("), ")")
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			all, begin = append(all, strings.TrimSpace(list[begin:i])), i+1
		}
	}
	return append(all, strings.TrimSpace(list[begin:]))
}

// operandHint returns what to write instead of the operand with the wrong type; empty if it is unknown.
func (d *diagnosis) operandHint(c celError) string {
	types, call := typesIn(syntax.TypeName(c.caught[2])), d.call(c)
	if call == nil || len(types) != 2 || len(call.AsCall().Args()) != 2 {
		return ""
	}
	for i, operand := range call.AsCall().Args() {
		other, text := types[1-i], syntax.Format(operand, d.tree.SourceInfo())
		literal, isText := syntax.StringLiteral(operand)
		switch {
		case len(text) > maxHintLength:
		case syntax.Function(operand) == operators.LogicalNot && i == 0 && negated[syntax.Function(call)] != "" && syntax.Path(operand.AsCall().Args()[0]) != "" && len(d.textsOf(call)) == 2:
			return fmt.Sprintf("! applies only to the operand after it: write %s %s %s", syntax.Format(operand.AsCall().Args()[0], d.tree.SourceInfo()), negated[syntax.Function(call)], d.textsOf(call)[1])
		case operand.Kind() == ast.IdentKind && strings.HasPrefix(types[i], "type("):
			return fmt.Sprintf("%s is a type of CEL: did you mean %s.%[1]s?", text, cmp.Or(d.loopVariable(c), syntax.ObjectVariable))
		case operand.Kind() == ast.SelectKind && other == "int" && isSize(operand.AsSelect().FieldName()):
			return fmt.Sprintf("write size(%s); the value of a key is a string", syntax.Format(operand.AsSelect().Operand(), d.tree.SourceInfo()))
		case (types[i] == "optional(any)" || types[i] == "optional("+other+")") && zeroOf[other] != "":
			return fmt.Sprintf(".? and [?] return optional values: set a default, such as %s.orValue(%s)", text, zeroOf[other])
		case types[i] == "optional(timestamp)" && len(d.textsOf(call)) == 2:
			symbol, _ := operators.FindReverse(syntax.Function(call))
			sides := d.textsOf(call)
			sides[i] = "t"
			hint := fmt.Sprintf("use an optional value inside optMap(): write %s.optMap(t, %s %s %s)", text, sides[0], symbol, sides[1])
			if other == "timestamp" && symbol != "-" {
				hint += ".orValue(false)"
			}
			return hint
		case types[i] == "string" && other == "timestamp" && isText:
			if time := timeIn(literal); time != "" {
				return fmt.Sprintf("write timestamp('%s')", time)
			}
		case types[i] == "string" && (other == "timestamp" || other == "duration" && isTimeField.MatchString(syntax.Path(operand))) && operand.Kind() != ast.LiteralKind:
			return fmt.Sprintf("times in objects are strings: write timestamp(%s)", text)
		case other == "duration" && types[i] == "int" && operand.Kind() == ast.LiteralKind:
			return fmt.Sprintf("write duration('%ss'), or days(7)", text)
		case other == "string" && isNumber.MatchString(text) && slices.Contains(orders, syntax.Function(call)) && len(d.textsOf(call)) == 2:
			return d.asNumbers(call, i, text)
		case other == "string" && operand.Kind() == ast.LiteralKind && slices.Contains([]string{"int", "uint", "double", "bool"}, types[i]):
			return fmt.Sprintf("the other operand is a string: write '%s'", text)
		case isText && slices.Contains([]string{"int", "double"}, other) && isNumber.MatchString(literal), isText && other == "bool" && slices.Contains([]string{"true", "false"}, strings.ToLower(literal)):
			return "the other operand is not a string: write " + strings.ToLower(literal)
		}
	}
	return ""
}

// valueHint returns how to set a default for the first optional operand; empty if none is optional.
func (d *diagnosis) valueHint(c celError) string {
	call := d.call(c)
	if call == nil {
		return ""
	}
	operands, function := syntax.Operands(call.AsCall()), syntax.Function(call)
	for i, t := range typesIn(strings.Replace(strings.Replace(syntax.TypeName(c.caught[2]), ".()", "", 1), ".(", ", ", 1)) {
		if !strings.HasPrefix(strings.TrimPrefix(t, "("), "optional(") || i >= len(operands) || len(syntax.Format(operands[i], d.tree.SourceInfo())) > maxHintLength {
			continue
		}
		text := syntax.Format(operands[i], d.tree.SourceInfo())
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
		return ".? and [?] return optional values: set a default, such as " + text
	}
	return ""
}

// negated maps == and != to each other.
var negated = map[string]string{operators.Equals: "!=", operators.NotEquals: "=="}

// zeroOf has an example value for each type.
var zeroOf = map[string]string{"string": "''", "int": "0", "uint": "0u", "double": "0.0", "bool": "false"}

// isSize reports whether other languages use a field of this name for the size of a value.
func isSize(field string) bool { return field == "size" || foreignFunctions[field] == "size(%s)" }
