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

	"github.com/sunset-k8s/sunset/engine/syntax"
	"github.com/sunset-k8s/sunset/policy"
)

const (
	clockMessage = "CEL has no clock"
	clockHint    = "use startTime and ttl for conditions on time: instead of now - timestamp(object.metadata.creationTimestamp) > duration('24h') " +
		"write startTime: object.metadata.creationTimestamp and ttl: 24h"
	functionsHint = "docs/cel.md lists the functions"
)

// clockNames are common names for the current time.
var clockNames = []string{"now", "time", "today", "clock", "currentTime", "current_time", "getdate", "date", "age", "ago", "since"}

// otherRoots are the names of the object in other systems.
var otherRoots = []string{"self", "this", "obj", "o", "resource", "oldObject", "item", "it", "input"}

// unknownName explains an undeclared name of a function, a variable, or a field that is written without object.
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
	case name == syntax.VariablesVariable || strings.HasPrefix(name, syntax.VariablesVariable+"."):
		return d.unknownVariable(after)
	case slices.Contains(otherRoots, name), policy.Closest(name, []string{syntax.ObjectVariable}) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "did you mean object?"}
	case policy.Closest(name, []string{syntax.ReferencesVariable}) != "":
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: "did you mean references?"}
	case startsUpper(name) && !strings.HasPrefix(after, name+"."):
		return finding{message: fmt.Sprintf("unknown name %q", name), hint: fmt.Sprintf("put strings in quotes: '%s'", name)}
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
	f := finding{message: fmt.Sprintf("unknown name %q", name), hint: "read fields of the object, such as object.status.phase"}
	switch rest := strings.TrimPrefix(after, name); {
	case strings.TrimSpace(d.text) == name:
		f.hint += fmt.Sprintf(", and labels as object.metadata.?labels[?'%s'].orValue('')", name)
	case !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "["):
		f.hint += fmt.Sprintf("; put strings in quotes: '%s'", name)
	}
	return f
}

func (d *diagnosis) isVariable(name string) bool {
	return slices.ContainsFunc(d.scope.variables, func(v variable) bool { return v.name == name })
}

// objectFields maps the names of common fields to their paths.
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
	keyHintBegins = "put a key with / or - in brackets and quotes: "
	keyHint       = keyHintBegins + "object.metadata.?%s[?'%s'].orValue('')"
)

// dashedKey matches a label or annotation up to a - or / in its key, which CEL reads as an operator. restOfKey matches
// the rest of the key. bareKey matches an expression that is only such a key.
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
		return finding{message: "exists() tests the elements of a list", hint: fmt.Sprintf("for a field write has(%s)", d.textsOf(call)...)}
	}
	if slices.Contains(d.names, name) { // a macro: cel-go expands it only with the right arguments
		return finding{message: name + "() does not accept these arguments", hint: macroHints[name]}
	}
	f := finding{message: fmt.Sprintf("unknown function %s()", name), hint: functionsHint}
	if field := d.fieldCalled(name, c); field == syntax.ReferencesVariable+"."+name || field != "" && otherFunctions[name] == "" && policy.Closest(name, d.names) == "" {
		f.hint = "write a field without (): " + field
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

// macroHints are hints with examples for the arguments of macros.
var macroHints = map[string]string{
	"has":        "it takes one field, such as has(object.status.phase)",
	"all":        "it takes a name and a condition, such as object.status.conditions.all(c, c.status == 'True')",
	"exists":     "it takes a name and a condition, such as object.status.conditions.exists(c, c.status == 'True')",
	"exists_one": "it takes a name and a condition, such as object.status.conditions.exists_one(c, c.status == 'True')",
	"filter":     "it takes a name and a condition, such as object.status.conditions.filter(c, c.status == 'True')",
	"map":        "it takes a name and an expression, such as object.status.conditions.map(c, c.type)",
}

func (d *diagnosis) unknownVariable(after string) finding {
	used := syntax.VariablesIn(after)
	var declared []string
	for _, v := range d.scope.variables {
		declared = append(declared, v.name)
	}
	switch {
	case len(used) == 0:
		return finding{message: "variables is not an object", hint: "write variables.NAME"}
	case len(declared) == 0:
		return finding{message: fmt.Sprintf("unknown variable %q", used[0]), hint: "declare it in spec.variables; a variable may use those before it"}
	}
	f := finding{message: fmt.Sprintf("unknown variable %q", used[0]), hint: "the variables before this are: " + strings.Join(declared, ", ")}
	if meant := policy.Closest(used[0], declared); meant != "" {
		f.hint = fmt.Sprintf("did you mean variables.%s?", meant)
	}
	return f
}
