package engine

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
)

const (
	clockMessage = "there is no clock in CEL"
	clockHint    = "startTime and ttl say everything about time: instead of now - timestamp(object.metadata.creationTimestamp) > duration('24h') " +
		"write startTime: object.metadata.creationTimestamp and ttl: 24h"
	functionsHint = "docs/cel.md lists the functions"
)

// clockNames are what people call a clock.
var clockNames = []string{"now", "time", "today", "clock", "currentTime", "current_time", "getdate", "date", "age", "ago", "since"}

// otherRoots are what other systems call the object.
var otherRoots = []string{"self", "this", "obj", "o", "resource", "oldObject", "item", "it", "input"}

// unknownName explains a name that nothing declares: of a function, a variable or a field without its object.
func (d *diagnosis) unknownName(c complaint) finding {
	name, after := c.caught[1], d.after(c)
	switch {
	case slices.Contains(clockNames, name), isClockCall.MatchString(after):
		return finding{message: clockMessage, hint: clockHint}
	case strings.HasPrefix(after, "("):
		return d.unknownFunction(name, c)
	case otherObjects.MatchString(after):
		return finding{message: fmt.Sprintf("unknown name %q", otherObjects.FindString(after)), hint: "did you mean object?"}
	case d.isVariable(name):
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("did you mean variables.%s?", name)}
	case otherValues[name] == presenceHint && d.presence(c.expression) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "write " + d.presence(c.expression)}
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
			hint:    fmt.Sprintf(keyHint, key[1], key[2]+rest),
		}
	case bareKey.MatchString(d.text):
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf(keyHint, "labels", strings.TrimSpace(d.text))}
	}
	name = strings.TrimPrefix(name, ".")
	if element := d.loopVariable(c); element != "" {
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("did you mean %s.%s, or a field of the object, such as object.status.phase?", element, name)}
	}
	if meant := policy.Closest(name, slices.Sorted(maps.Keys(objectFields))); meant != "" {
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("did you mean %s?", objectFields[meant])}
	}
	f := finding{message: fmt.Sprintf("unknown name %q", name), hint: "fields are read from the object, such as object.status.phase"}
	switch rest := strings.TrimPrefix(after, name); {
	case strings.TrimSpace(d.text) == name:
		f.hint += fmt.Sprintf(", and labels as object.metadata.?labels[?'%s'].orValue('')", name)
	case !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "["):
		f.hint += fmt.Sprintf("; text stands in quotes: '%s'", name)
	}
	return f
}

func (d *diagnosis) isVariable(name string) bool {
	return slices.ContainsFunc(d.scope.variables, func(v variable) bool { return v.name == name })
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

const (
	keyHintBegins = "a key with / or - stands in brackets and quotes: "
	keyHint       = keyHintBegins + "object.metadata.?%s[?'%s'].orValue('')"
)

// dashedKey is a label or annotation up to a - or / in its key, which CEL computes with, and restOfKey what follows. bareKey is an
// expression that is such a key and nothing else.
var (
	bareKey   = regexp.MustCompile(`^\s*[a-zA-Z][\w.]*[-/][\w./-]+\s*$`)
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
