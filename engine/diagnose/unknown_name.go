// SPDX-License-Identifier: Apache-2.0

package diagnose

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
	clockHint    = "use startTime and ttl for conditions on time: for example, instead of now - timestamp(object.metadata.creationTimestamp) > duration('24h') " +
		"write startTime: object.metadata.creationTimestamp and ttl: 24h"
	functionsHint = "docs/reference/cel.md lists the functions"
)

// clockNames are common names for the current time.
var clockNames = []string{"now", "time", "today", "clock", "currentTime", "current_time", "getdate", "date", "age", "ago", "since"}

// foreignObjectNames are the names of the object in other systems.
var foreignObjectNames = []string{"self", "this", "obj", "o", "resource", "oldObject", "item", "it", "input"}

// unknownName explains an undeclared name of a function, a variable, or a field that is written without object.
func (d *diagnosis) unknownName(c celError) Finding {
	name := c.caught[1]
	before, after := d.split(c)
	switch {
	case slices.Contains(clockNames, name), isClockCall.MatchString(after):
		return Finding{Message: clockMessage, Hint: clockHint}
	case strings.HasPrefix(after, "("):
		return d.unknownFunction(name, c)
	case foreignObjects.MatchString(after):
		return Finding{Message: fmt.Sprintf("unknown name %q", foreignObjects.FindString(after)), Hint: "did you mean object?"}
	case d.isVariable(name):
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: fmt.Sprintf("did you mean variables.%s?", name)}
	case foreignValues[name] == presenceHint && d.presence(c.expression) != "":
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: "write " + d.presence(c.expression)}
	case foreignValues[name] != "":
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: foreignValues[name]}
	case name == syntax.VariablesVariable || strings.HasPrefix(name, syntax.VariablesVariable+"."):
		return d.unknownVariable(after)
	case slices.Contains(foreignObjectNames, name), policy.Closest(name, []string{syntax.ObjectVariable}) != "":
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: "did you mean object?"}
	case policy.Closest(name, relationNames()) != "":
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: "did you mean " + policy.Closest(name, relationNames()) + "?"}
	case startsUpper(name) && !strings.HasPrefix(after, name+"."):
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: fmt.Sprintf("put strings in quotes: '%s'", name)}
	case dashedKey.MatchString(before):
		key := dashedKey.FindStringSubmatch(before)
		rest := restOfKey.FindString(after)
		return Finding{
			Message: fmt.Sprintf("unknown name %q", name),
			Hint:    fmt.Sprintf(keyHint, key[1], key[2]+rest),
		}
	case bareKey.MatchString(d.text):
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: fmt.Sprintf(keyHint, "labels", strings.TrimSpace(d.text))}
	}
	name = strings.TrimPrefix(name, ".")
	if element := d.loopVariable(c); element != "" {
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: fmt.Sprintf("did you mean %s.%s, or a field of the object, such as object.status.phase?", element, name)}
	}
	if meant := policy.Closest(name, slices.Sorted(maps.Keys(objectFields))); meant != "" {
		return Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: fmt.Sprintf("did you mean %s?", objectFields[meant])}
	}
	f := Finding{Message: fmt.Sprintf("unknown name %q", name), Hint: "read fields of the object, such as object.status.phase"}
	switch rest := strings.TrimPrefix(after, name); {
	case strings.TrimSpace(d.text) == name:
		f.Hint += fmt.Sprintf(", and labels as object.metadata.?labels[?'%s'].orValue('')", name)
	case !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "["):
		f.Hint += fmt.Sprintf("; put strings in quotes: '%s'", name)
	}
	return f
}

func (d *diagnosis) isVariable(name string) bool {
	return slices.Contains(d.scope.Variables, name)
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

func (d *diagnosis) unknownFunction(name string, c celError) Finding {
	if call := d.call(c); name == "exists" && call != nil && !call.AsCall().IsMemberFunction() && len(call.AsCall().Args()) == 1 && len(d.textsOf(call)) == 1 {
		return Finding{Message: "exists() tests the elements of a list", Hint: fmt.Sprintf("for a field write has(%s)", d.textsOf(call)...)}
	}
	if slices.Contains(d.scope.Functions.all, name) { // a macro: cel-go expands it only with the right arguments
		return Finding{Message: name + "() does not accept these arguments", Hint: macroHints[name]}
	}
	f := Finding{Message: fmt.Sprintf("unknown function %s()", name), Hint: functionsHint}
	if field := d.fieldCalled(name, c); slices.Contains(relationNames(), strings.TrimSuffix(field, "."+name)) || field != "" && foreignFunctions[name] == "" && policy.Closest(name, d.scope.Functions.all) == "" {
		f.Hint = "write a field without (): " + field
	} else if loop := foreignLoops[name]; loop != "" {
		f.Hint = fmt.Sprintf("did you mean %s()? %s", loop, macroHints[loop])
	} else if known := d.inCEL(name, c); known != "" {
		f.Hint = known
	} else if meant := policy.Closest(name, d.scope.Functions.own); meant != "" {
		f.Hint = fmt.Sprintf("did you mean %s?", d.scope.Functions.calls[meant])
	} else if meant := policy.Closest(name, d.scope.Functions.all); meant != "" {
		f.Hint = fmt.Sprintf("did you mean %s?", d.renamed(c, meant))
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

func (d *diagnosis) unknownVariable(after string) Finding {
	used := syntax.VariablesIn(after)
	declared := d.scope.Variables
	switch {
	case len(used) == 0:
		return Finding{Message: "variables is not an object", Hint: "write variables.NAME"}
	case len(declared) == 0:
		return Finding{Message: fmt.Sprintf("unknown variable %q", used[0]), Hint: "declare it in spec.variables; a variable may use those before it"}
	}
	f := Finding{Message: fmt.Sprintf("unknown variable %q", used[0]), Hint: "the variables before this are: " + strings.Join(declared, ", ")}
	if meant := policy.Closest(used[0], declared); meant != "" {
		f.Hint = fmt.Sprintf("did you mean variables.%s?", meant)
	}
	return f
}
