package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

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
var clockNames = []string{"now", "time", "today", "clock", "currentTime", "current_time", "getdate", "date"}

// otherRoots are what other systems call the object.
var otherRoots = []string{"self", "this", "obj", "o", "resource", "oldObject", "item", "it", "request", "input"}

// unknownName explains a name that nothing declares: of a function, a variable or a field without its object.
func (d *diagnosis) unknownName(c complaint) finding {
	name, after := c.caught[1], d.after(c)
	switch {
	case slices.Contains(clockNames, name), isClockCall.MatchString(after):
		return finding{message: clockMessage, hint: clockHint}
	case strings.HasPrefix(after, "("):
		return d.unknownFunction(name)
	case name == variablesVariable || strings.HasPrefix(name, variablesVariable+"."):
		return d.unknownVariable(after)
	case slices.Contains(otherRoots, name), policy.Closest(name, []string{objectVariable}) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "did you mean object?"}
	case policy.Closest(name, []string{referencesVariable}) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "did you mean references?"}
	case startsUpper(name) && !strings.HasPrefix(after, name+"."):
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("text stands in quotes: '%s'", name)}
	case strings.HasSuffix(d.before(c), "/"), dashedKey.MatchString(d.before(c)):
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "a key with / or - stands in brackets and quotes: object.metadata.?labels[?'example.com/app'].orValue('')"}
	}
	if meant := policy.Closest(name, objectFields); meant != "" {
		name = meant
	}
	return finding{message: fmt.Sprintf("unknown name %q", c.caught[1]), hint: fmt.Sprintf("did you mean object.%s?", name)}
}

// objectFields are the fields that most objects have.
var objectFields = []string{"metadata", "spec", "status", "kind", "apiVersion", "data"}

// dashedKey is a label or annotation up to the - in its key, which is a minus in CEL.
var dashedKey = regexp.MustCompile(`\.(labels|annotations)\.[\w.]+-$`)

var isClockCall = regexp.MustCompile(`^(timestamp|date|time|Date|Time)\s*\.\s*now\b`)

func startsUpper(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}

func (d *diagnosis) unknownFunction(name string) finding {
	if slices.Contains(d.names, name) { // a macro, which cel-go expands only with the arguments that it takes
		return finding{message: name + "() does not take these arguments", hint: macroHints[name]}
	}
	f := finding{message: fmt.Sprintf("unknown function %s()", name), hint: functionsHint}
	meant := policy.Closest(name, ourNames())
	if meant == "" {
		meant = policy.Closest(name, d.names)
	}
	if meant != "" {
		f.hint = fmt.Sprintf("did you mean %s?", signatureOf(meant))
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
		return finding{message: fmt.Sprintf("%s does not take %s", symbol, args), hint: "what .? and [?] give may be missing: say what counts then, such as object.status.?failed.orValue(0) > 0"}
	case isOperator && symbol != "":
		f := finding{message: fmt.Sprintf("%s does not take %s", symbol, args)}
		has := func(name string) bool { return strings.Contains(args, name) }
		switch {
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
	case slices.Contains(ourNames(), function):
		return finding{message: fmt.Sprintf("%s does not take %s", function, args), hint: "write " + signatureOf(function)}
	}
	return finding{message: fmt.Sprintf("%s does not take %s", function, args)}
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
	quoted  = regexp.MustCompile(`^['"]([^'"]*)['"]`)
	hasKey  = regexp.MustCompile(`has\(\s*([^()]*)\[\s*('[^']*'|"[^"]*")\s*\]\s*\)`)
	hasBare = regexp.MustCompile(`has\(\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\)`)
)

// badHas explains has(x['key']), which CEL does not know.
func (d *diagnosis) badHas(complaint) finding {
	f := finding{message: "has() takes a field, such as has(object.status.phase)"}
	if key := hasKey.FindStringSubmatch(d.text); key != nil {
		f.hint = fmt.Sprintf("for a key write %s[?%s].hasValue(), or %s in %s", key[1], key[2], key[2], key[1])
	} else if hasBare.MatchString(d.text) {
		f.hint = "the object is always there"
	}
	return f
}

func (d *diagnosis) reserved(c complaint) finding {
	f := finding{message: fmt.Sprintf("%q is a reserved word", c.caught[1])}
	if c.caught[1] == "namespace" {
		f.hint = "did you mean object.metadata.namespace?"
	}
	return f
}

func (d *diagnosis) mixedTypes(c complaint) finding {
	return finding{
		message: fmt.Sprintf("%s beside %s: the elements of a list or map have one type", typeName(c.caught[2]), typeName(c.caught[1])),
		hint:    "dyn(...) around each makes it one",
	}
}

// fieldOf is the path of the field that a complaint is about; empty unless that is a variable's, by way of others.
func (d *diagnosis) fieldOf(c complaint) (path string) {
	ast.PreOrderVisit(d.tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == c.expression {
			path = pathOf(e)
		}
	}))
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

var wordOperator = regexp.MustCompile(`^(?:extraneous input )?'(and|or)'`)

// syntax cuts the parser's list of everything it would have liked better.
func (d *diagnosis) syntax(c complaint) finding {
	detail, _, _ := strings.Cut(c.caught[1], " expecting {")
	detail = strings.ReplaceAll(detail, "'<EOF>'", "the end")
	detail = strings.TrimPrefix(detail, "mismatched input ")
	switch {
	case strings.HasPrefix(detail, "token recognition error at: '= "), strings.HasPrefix(detail, "token recognition error at: '='"):
		return finding{message: syntaxMessage + ": a single =", hint: "== compares"}
	case wordOperator.MatchString(detail):
		word := wordOperator.FindStringSubmatch(detail)[1]
		return finding{message: syntaxMessage + ": '" + word + "' is no operator", hint: "write " + map[string]string{"and": "&&", "or": "||"}[word]}
	case strings.HasSuffix(strings.TrimSpace(d.before(c)), "not"):
		return finding{message: syntaxMessage + ": 'not' is no operator", hint: "write !"}
	case strings.HasPrefix(detail, "the end"):
		return finding{message: syntaxMessage + ": it ends too early", hint: "something is missing after the last operator or parenthesis"}
	}
	return finding{message: syntaxMessage + ": " + detail}
}
