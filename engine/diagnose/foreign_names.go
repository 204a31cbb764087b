package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/sunset-k8s/sunset/engine/syntax"
)

// foreignFunctions maps functions of other languages to formats of CEL expressions for the receiver and the arguments.
var foreignFunctions = map[string]string{
	"count": "size(%s)", "len": "size(%s)", "length": "size(%s)",
	"empty": "size(%s) == 0", "isEmpty": "size(%s) == 0",
	"eq": "%s == %s", "equals": "%s == %s", "ne": "%s != %s", "isNull": "!has(%s)", "not": "!(%s)", "xor": "%s != %s",
	"defined": "has(%s)", "isDefined": "has(%s)", "isset": "has(%s)",
	"lower": "%s.lowerAscii()", "toLower": "%s.lowerAscii()", "toLowerCase": "%s.lowerAscii()",
	"upper": "%s.upperAscii()", "toUpper": "%s.upperAscii()", "toUpperCase": "%s.upperAscii()",
	"hasPrefix": "%s.startsWith(%s)", "beginsWith": "%s.startsWith(%s)", "hasSuffix": "%s.endsWith(%s)",
	"match": "%s.matches(%s)", "regexMatch": "%s.matches(%s)", "test": "%s.matches(%s)", "strip": "%s.trim()",
	"containsKey": "%[2]s in %[1]s", "hasKey": "%[2]s in %[1]s",
	"str": "string(%s)", "toString": "string(%s)", "atoi": "int(%s)", "parseInt": "int(%s)", "toInt": "int(%s)",
}

// foreignLoops maps loop functions of other languages to those of CEL.
var foreignLoops = map[string]string{
	"any": "exists", "some": "exists", "every": "all", "forEach": "all", "select": "filter", "where": "filter", "collect": "map",
}

// foreignValues maps values of other languages to hints.
var foreignValues = map[string]string{
	"True": "write true; put strings in quotes, such as the status of a condition: 'True'", "TRUE": "write true",
	"False": "write false; put strings in quotes, such as the status of a condition: 'False'", "FALSE": "write false",
	"nil": presenceHint, "None": presenceHint, "NULL": presenceHint, "Null": presenceHint, "undefined": presenceHint,

	"authorizer":      "an expression cannot check permissions: remove it",
	"namespaceObject": "an expression cannot read the namespace: select namespaces by label, such as namespaceSelector: {matchLabels: {env: dev}} in spec",
	"params":          "parameters do not exist here: write the value, or declare it in spec.variables",
	"request":         "an expression cannot read a request: read fields of the object, such as object.metadata.namespace",
}

// foreignObjects matches the names of the object in admission policies.
var foreignObjects = regexp.MustCompile(`^(request\.(object|oldObject)|input\.review\.object|variables\.anyObject)\b`)

// presence returns a test for the field that is compared with nothing, an operand for an absent field; empty for none.
func (d *diagnosis) presence(nothing int64) (instead string) {
	for e := range syntax.All(d.tree.Expr()) {
		not, compares := map[string]string{operators.Equals: "!", operators.NotEquals: ""}[syntax.Function(e)]
		if !compares {
			continue
		}
		for i, arg := range e.AsCall().Args() {
			switch compared := e.AsCall().Args()[1-i]; {
			case arg.ID() != nothing:
			case syntax.Function(compared) == operators.Index && len(d.textsOf(compared)) == 2:
				instead = not + fmt.Sprintf("(%[2]s in %[1]s)", d.textsOf(compared)...)
			case compared.Kind() == ast.SelectKind:
				instead = not + "has(" + syntax.Format(compared, d.tree.SourceInfo()) + ")"
			}
		}
	}
	return instead
}

// expression returns the part that a error is about; nil if there is none.
func (d *diagnosis) expression(c celError) ast.Expr {
	if d.tree == nil {
		return nil
	}
	for e := range syntax.All(d.tree.Expr()) {
		if e.ID() == c.expression {
			return e
		}
	}
	return nil
}

// loopVariable returns the variable of the innermost loop around the part that a error is about; empty if there is
// none.
func (d *diagnosis) loopVariable(c celError) (name string) {
	for e := range syntax.All(d.tree.Expr()) {
		if e.Kind() != ast.ComprehensionKind || !syntax.Iterates(e.AsComprehension()) {
			continue
		}
		for inner := range syntax.All(e.AsComprehension().LoopStep()) {
			if inner.ID() == c.expression {
				name = e.AsComprehension().IterVar()
			}
		}
	}
	return name
}

// call returns the call that a error is about; nil if there is none.
func (d *diagnosis) call(c celError) ast.Expr {
	if e := d.expression(c); e != nil && e.Kind() == ast.CallKind {
		return e
	}
	return nil
}

// longestHint is the maximum number of characters of an expression that a hint repeats.
const longestHint = 100

// textsOf returns the receiver and the arguments of a call as written; nil if they are too long to repeat.
func (d *diagnosis) textsOf(call ast.Expr) (texts []any) {
	if call == nil {
		return nil
	}
	size := 0
	for _, arg := range syntax.Operands(call.AsCall()) {
		text := syntax.Format(arg, d.tree.SourceInfo())
		texts, size = append(texts, text), size+len(text)
	}
	if size > longestHint {
		return nil
	}
	return texts
}

// fieldCalled returns the path of a field that is called as a function without arguments; empty for anything else.
func (d *diagnosis) fieldCalled(name string, c celError) string {
	call := d.call(c)
	if call == nil || !call.AsCall().IsMemberFunction() || len(call.AsCall().Args()) > 0 {
		return ""
	}
	if parent := syntax.Path(call.AsCall().Target()); parent != "" {
		return parent + "." + name
	}
	return ""
}

// inCEL returns what to write instead of a function of another language; empty if it is unknown.
func (d *diagnosis) inCEL(function string, c celError) string {
	form, known := foreignFunctions[function]
	texts := d.textsOf(d.call(c))
	if !known || len(texts) != max(strings.Count(form, "%"), 1) {
		return ""
	}
	return "write " + fmt.Sprintf(form, texts...)
}

// renamed returns a call as written, but with another function name.
func (d *diagnosis) renamed(c celError, function string) string {
	call := d.call(c)
	texts := d.textsOf(call)
	if texts == nil {
		return function + "()"
	}
	return callOf(function, call.AsCall().IsMemberFunction(), texts)
}

func callOf(function string, ofMember bool, texts []any) string {
	var args []string
	for _, text := range texts {
		args = append(args, text.(string))
	}
	if ofMember {
		return args[0] + "." + function + "(" + strings.Join(args[1:], ", ") + ")"
	}
	return function + "(" + strings.Join(args, ", ") + ")"
}

// used returns how to call a function of a library that was called in another way.
func (d *diagnosis) used(function string, c celError) string {
	declared := d.scope.Env.Functions()[function]
	call := d.call(c)
	if declared == nil || call == nil {
		return ""
	}
	if receiver := call.AsCall().Target(); function == "orValue" && receiver.Kind() == ast.SelectKind && len(d.textsOf(call)) == 2 {
		s := receiver.AsSelect()
		return fmt.Sprintf("read a field that may be missing with .?: write %s.?%s.orValue(%s)", syntax.Format(s.Operand(), d.tree.SourceInfo()), s.FieldName(), d.textsOf(call)[1])
	}
	const shown = 2
	var signatures []string
	for i, overload := range declared.OverloadDecls() {
		if texts := d.textsOf(call); len(texts) == len(overload.ArgTypes()) && overload.IsMemberFunction() != call.AsCall().IsMemberFunction() {
			return "write " + callOf(function, overload.IsMemberFunction(), texts)
		}
		if len(signatures) < shown {
			signatures = append(signatures, syntax.TypeName(declared.Documentation().Children[i].Signature))
		}
	}
	return "call it as " + strings.Join(signatures, ", or ")
}

// typesIn returns the types in a error about a call, such as (string, map(string, string)).
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
		case len(text) > longestHint:
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

// negated maps == and != to each other.
var negated = map[string]string{operators.Equals: "!=", operators.NotEquals: "=="}

// isSize reports whether other languages use a field of this name for the size of a value.
func isSize(field string) bool { return field == "size" || foreignFunctions[field] == "size(%s)" }

// zeroOf has an example value for each type.
var zeroOf = map[string]string{"string": "''", "int": "0", "uint": "0u", "double": "0.0", "bool": "false"}

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
