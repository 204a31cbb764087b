package engine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	clockMessage = "there is no clock in CEL"
	clockHint    = "startTime and ttl say everything about time: instead of now - timestamp(object.metadata.creationTimestamp) > duration('24h') " +
		"write startTime: object.metadata.creationTimestamp and ttl: 24h"
	functionsHint = "docs/cel.md lists the functions"
	syntaxMessage = "cannot be read"
)

// clockNames are what people call a clock.
var clockNames = []string{"now", "time", "today", "clock", "currentTime", "current_time", "getdate", "date", "age", "ago", "since"}

// otherRoots are what other systems call the object.
var otherRoots = []string{"self", "this", "obj", "o", "resource", "oldObject", "item", "it", "request", "input"}

// unknownName explains a name that nothing declares: of a function, a variable or a field without its object.
func (d *diagnosis) unknownName(c complaint) finding {
	name, after := c.caught[1], d.after(c)
	switch {
	case slices.Contains(clockNames, name), isClockCall.MatchString(after):
		return finding{message: clockMessage, hint: clockHint}
	case strings.HasPrefix(after, "("):
		return d.unknownFunction(name, c)
	case otherValues[name] == presenceHint && d.presence(c) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "write " + d.presence(c)}
	case otherValues[name] != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: otherValues[name]}
	case name == variablesVariable || strings.HasPrefix(name, variablesVariable+"."):
		return d.unknownVariable(after)
	case slices.Contains(otherRoots, name), policy.Closest(name, []string{objectVariable}) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "did you mean object?"}
	case policy.Closest(name, []string{referencesVariable}) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "did you mean references?"}
	case startsUpper(name) && !strings.HasPrefix(after, name+"."):
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("text stands in quotes: '%s'", name)}
	case dashedKey.MatchString(d.before(c)):
		key := dashedKey.FindStringSubmatch(d.before(c))
		rest := restOfKey.FindString(after)
		return finding{
			message: fmt.Sprintf("unknown name %q", name),
			hint:    fmt.Sprintf("a key with / or - stands in brackets and quotes: object.metadata.?%s[?'%s%s'].orValue('')", key[1], key[2], rest),
		}
	}
	name = strings.TrimPrefix(name, ".")
	if element := d.loopVariable(c); element != "" {
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("did you mean %s.%s, or a field of the object, such as object.status.phase?", element, name)}
	}
	if meant := policy.Closest(name, slices.Sorted(maps.Keys(objectFields))); meant != "" {
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("did you mean %s?", objectFields[meant])}
	}
	return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("fields are read from the object, such as object.status.phase; text stands in quotes: '%s'", name)}
}

// objectFields are the fields that most objects have, by their last names.
var objectFields = func() map[string]string {
	fields := map[string]string{"phase": "object.status.phase", "conditions": "object.status.conditions"}
	for _, top := range []string{"metadata", "spec", "status", "kind", "apiVersion", "data"} {
		fields[top] = "object." + top
	}
	metadata := reflect.TypeFor[metav1.ObjectMeta]()
	for i := range metadata.NumField() {
		name, _, _ := strings.Cut(metadata.Field(i).Tag.Get("json"), ",")
		fields[name] = "object.metadata." + name
	}
	return fields
}()

// dashedKey is a label or annotation up to a - or / in its key, which CEL computes with, and restOfKey what follows.
var (
	dashedKey = regexp.MustCompile(`\bobject\.metadata\.(labels|annotations)\.([\w.-]+[-/]|[\w.-]+/[\w.-]+-)$`)
	restOfKey = regexp.MustCompile(`^[\w./-]+`)
)

var isClockCall = regexp.MustCompile(`^(timestamp|date|time|Date|Time)\s*\.\s*now\b`)

func startsUpper(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}

func (d *diagnosis) unknownFunction(name string, c complaint) finding {
	if call := d.call(c); name == "exists" && call != nil && !call.AsCall().IsMemberFunction() && len(call.AsCall().Args()) == 1 && len(d.textsOf(call)) == 1 {
		return finding{message: "exists() asks the elements of a list", hint: fmt.Sprintf("for a field write has(%s)", d.textsOf(call)...)}
	}
	if slices.Contains(d.names, name) { // a macro, which cel-go expands only with the arguments that it takes
		return finding{message: name + "() does not take these arguments", hint: macroHints[name]}
	}
	f := finding{message: fmt.Sprintf("unknown function %s()", name), hint: functionsHint}
	if field := d.fieldCalled(name, c); field == referencesVariable+"."+name || field != "" && otherFunctions[name] == "" && policy.Closest(name, d.names) == "" {
		f.hint = "a field stands without (): write " + field
	} else if loop := otherLoops[name]; loop != "" {
		f.hint = fmt.Sprintf("did you mean %s()? %s", loop, macroHints[loop])
	} else if known := d.inCEL(name, c); known != "" {
		f.hint = known
	} else if meant := policy.Closest(name, ourNames()); meant != "" {
		f.hint = fmt.Sprintf("did you mean %s?", signatureOf(meant))
	} else if meant := policy.Closest(name, d.names); meant != "" {
		f.hint = fmt.Sprintf("did you mean %s?", d.renamed(c, meant))
	}
	return f
}

// macroHints are examples of macros with the arguments that they take.
var macroHints = map[string]string{
	"has":        "it takes one field, such as has(object.status.phase)",
	"all":        "it takes a name and a condition, such as object.status.conditions.all(c, c.status == 'True')",
	"exists":     "it takes a name and a condition, such as object.status.conditions.exists(c, c.status == 'True')",
	"exists_one": "it takes a name and a condition, such as object.status.conditions.exists_one(c, c.status == 'True')",
	"filter":     "it takes a name and a condition, such as object.status.conditions.filter(c, c.status == 'True')",
	"map":        "it takes a name and an expression, such as object.status.conditions.map(c, c.type)",
}

func (d *diagnosis) unknownVariable(after string) finding {
	match := used.FindStringSubmatch(after)
	var declared []string
	for _, v := range d.scope.variables {
		declared = append(declared, v.name)
	}
	switch {
	case match == nil:
		return finding{message: "variables is not an object", hint: "write variables.NAME"}
	case len(declared) == 0:
		return finding{message: fmt.Sprintf("unknown variable %q", match[1]), hint: "declare it in spec.variables; a variable may use those before it"}
	}
	f := finding{message: fmt.Sprintf("unknown variable %q", match[1]), hint: "declared before this are: " + strings.Join(declared, ", ")}
	if meant := policy.Closest(match[1], declared); meant != "" {
		f.hint = fmt.Sprintf("did you mean variables.%s?", meant)
	}
	return f
}

// noOverload explains a function or operator that does not take these types.
func (d *diagnosis) noOverload(c complaint) finding {
	function, args := c.caught[1], typeName(c.caught[2])
	symbol, isOperator := operators.FindReverse(function)
	switch {
	case symbol == "in":
		return finding{message: "in does not take " + args, hint: "write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed']"}
	case isOperator && strings.Contains(c.caught[2], "optional_type("):
		return finding{message: fmt.Sprintf("%s does not take %s", symbol, args), hint: cmp.Or(d.operandHint(c),
			"what .? and [?] give may be missing: say what counts then, such as object.status.?failed.orValue(0) > 0")}
	case isOperator && symbol != "":
		f := finding{message: fmt.Sprintf("%s does not take %s", symbol, args), hint: d.operandHint(c)}
		has := func(name string) bool { return strings.Contains(args, name) }
		switch {
		case f.hint != "":
		case bareDate.MatchString(d.code()):
			f.hint = fmt.Sprintf("a date stands in quotes: '%s'", bareDate.FindString(d.code()))
		case has("string") && (has("timestamp") || has("duration") && (symbol == "+" || symbol == "-")):
			f.hint = "a time in an object is text: write timestamp(object.metadata.creationTimestamp)"
		case has("duration") && !has("timestamp"):
			f.hint = "a span of time is a duration, such as duration('1h') or days(7), and no number or text"
		case has("Quantity"):
			f.hint = "quantities have functions, such as quantity('2Gi').isGreaterThan(quantity('1Gi'))"
		case symbol == "==" || symbol == "!=":
			f.hint = "only values of one type can be equal: text stands in quotes, numbers do not"
		}
		return f
	case isOperator && function == operators.Conditional:
		return finding{message: "CONDITION ? VALUE : OTHER does not take " + args, hint: "the condition is true or false, and both values are of one type"}
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
	case slices.Contains(ourNames(), function):
		f.hint = "write " + signatureOf(function)
	case function == "contains" && len(texts) == 2 && (strings.HasPrefix(receiver, "list(") || strings.HasPrefix(receiver, "map(")):
		f.hint = fmt.Sprintf("write %[2]s in %[1]s", texts...)
	}
	return f
}

// bareDate is a date without quotes, which CEL subtracts.
var bareDate = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)

// noFields explains a field of what has none.
func (d *diagnosis) noFields(c complaint) finding {
	f := finding{message: typeName(c.caught[1]) + " has no fields"}
	path := d.fieldOf(c)
	parent, field := path, ""
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, field = path[:i], path[i+1:]
	}
	_, key, isLabel := strings.Cut(path, "object.metadata.labels.")
	_, annotation, isAnnotation := strings.Cut(path, "object.metadata.annotations.")
	key, annotation = d.wholeKey("labels", key), d.wholeKey("annotations", annotation)
	switch {
	case isLabel:
		f.hint = fmt.Sprintf("a key with a dot stands in brackets and quotes: object.metadata.?labels[?'%s'].orValue('')", key)
	case isAnnotation:
		f.hint = fmt.Sprintf("a key with a dot stands in brackets and quotes: object.metadata.?annotations[?'%s'].orValue('')", annotation)
	case isSize(field):
		f.hint = "write size(" + parent + ")"
	case strings.HasPrefix(c.caught[1], "list(") && parent != "":
		f.hint = fmt.Sprintf("a loop asks all elements, such as %s.exists(e, e.%s == 'x')", parent, field)
	}
	return f
}

// wholeKey is a key of labels or annotations as it is written: what follows the dot at which cel-go stumbles is a part of it.
func (d *diagnosis) wholeKey(of, begins string) string {
	whole := regexp.MustCompile(`\.` + of + `\.(` + regexp.QuoteMeta(begins) + `[\w./-]*)`).FindStringSubmatch(d.text)
	if whole == nil {
		return begins
	}
	return whole[1]
}

// badTime explains timestamp('2026-03-01').
func (d *diagnosis) badTime(c complaint) finding {
	f := finding{message: "this is not a time", hint: "write it in RFC 3339, such as timestamp('2026-03-01T12:00:00Z')"}
	if literal := quoted.FindStringSubmatch(d.after(c)); literal != nil && timeIn(literal[1]) != "" {
		f.hint = fmt.Sprintf("write timestamp('%s')", timeIn(literal[1]))
	}
	return f
}

// timeIn is a time that lacks something as RFC 3339 has it, in UTC; empty for what is no time.
func timeIn(text string) string {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

// badRegex explains matches('*-build').
func (d *diagnosis) badRegex(c complaint) finding {
	f := finding{message: "this is not a regular expression", hint: "the syntax is RE2; a backslash is doubled in CEL text, or write r'...'"}
	if literal := quoted.FindStringSubmatch(d.after(c)); literal != nil && strings.HasPrefix(literal[1], "*") {
		f.hint = fmt.Sprintf("any text is .* in a regular expression: write matches('.%s')", literal[1])
	}
	return f
}

// badDuration explains duration('7d').
func (d *diagnosis) badDuration(c complaint) finding {
	f := finding{message: "this is not a duration in CEL, whose units are h, m, s, ms, us and ns", hint: "for days write days(7)"}
	literal := quoted.FindStringSubmatch(d.after(c))
	if literal == nil {
		return f
	}
	ttl, err := policy.ParseTTL(literal[1])
	if err != nil || ttl < policy.Day {
		return f
	}
	f.hint = fmt.Sprintf("write days(%d)", ttl/policy.Day)
	if rest := ttl % policy.Day; rest > 0 {
		f.hint += fmt.Sprintf(" + duration('%s')", policy.FormatTTL(rest))
	}
	f.hint += "; in a rule, ttl: " + literal[1] + " says it too"
	return f
}

var (
	isNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	hasText  = regexp.MustCompile(`has\(\s*['"](object\.[\w.]+)['"]\s*\)`)
	quoted   = regexp.MustCompile(`^['"]([^'"]*)['"]`)
	hasKey   = regexp.MustCompile(`has\(\s*([^()]*)\[\s*('[^']*'|"[^"]*")\s*\]\s*\)`)
	hasBare  = regexp.MustCompile(`has\(\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\)`)
)

// badHas explains has(x['key']), which CEL does not know.
func (d *diagnosis) badHas(complaint) finding {
	f := finding{message: "has() takes a field, such as has(object.status.phase)"}
	if key := hasKey.FindStringSubmatch(d.text); key != nil {
		f.hint = fmt.Sprintf("for a key write %s[?%s].hasValue(), or %s in %s", key[1], key[2], key[2], key[1])
	} else if text := hasText.FindStringSubmatch(d.text); text != nil {
		f.hint = fmt.Sprintf("a field stands without quotes: write has(%s)", text[1])
	} else if hasBare.MatchString(d.text) {
		f.hint = "the object is always there"
	}
	return f
}

func (d *diagnosis) reserved(c complaint) finding {
	f := finding{message: fmt.Sprintf("%q is a reserved word", c.caught[1])}
	switch foreign, found := d.foreignIn(d.code()); {
	case c.caught[1] == "namespace":
		f.hint = "did you mean object.metadata.namespace?"
	case found:
		return foreign
	}
	return f
}

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
	if texts := d.textsOf(compared); found && texts != nil {
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

// fieldOf is the path of the field that a complaint is about; empty unless that is a variable's, by way of others.
func (d *diagnosis) fieldOf(c complaint) (path string) {
	if e := d.expression(c); e != nil {
		path = pathOf(e)
	}
	return path
}

func pathOf(e ast.Expr) string {
	parent, field := "", ""
	switch {
	case e.Kind() == ast.IdentKind:
		return strings.TrimPrefix(e.AsIdent(), ".")
	case e.Kind() == ast.SelectKind:
		parent, field = pathOf(e.AsSelect().Operand()), e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.OptSelect:
		args := e.AsCall().Args()
		name, _ := args[1].AsLiteral().Value().(string)
		parent, field = pathOf(args[0]), name
	}
	if parent == "" {
		return ""
	}
	return parent + "." + field
}
