// SPDX-License-Identifier: Apache-2.0

package diagnose_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/engine/diagnose"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// rule returns a rule about Jobs.
func rule(eligible string) v1alpha1.Rule {
	return v1alpha1.Rule{
		Name: "jobs", Target: v1alpha1.Target{APIVersion: "batch/v1", Kind: "Job"},
		Eligible: eligible, StartTime: "finishedAt(object)", TTL: "1d",
	}
}

const clockHint = "(use startTime and ttl for conditions on time: for example, instead of now - timestamp(object.metadata.creationTimestamp) > duration('24h') " +
	"write startTime: object.metadata.creationTimestamp and ttl: 24h)"

// TestProblemsOfExpressions compares every message that an author may see with the library that causes it.
func TestProblemsOfExpressions(t *testing.T) {
	tests := map[string]struct {
		eligible string
		want     []string // without the path
	}{
		"a field without its object":           {"status.phase == 'x'", []string{`1:1: unknown name "status" (did you mean object.status?)`}},
		"a misspelt field without its object":  {"finished(object)\n && statu.x", []string{`2:5: unknown name "statu" (did you mean object.status?)`}},
		"another system's name of the object":  {"self.x", []string{`1:1: unknown name "self" (did you mean object?)`}},
		"a misspelt object":                    {"objekt.x", []string{`1:1: unknown name "objekt" (did you mean object?)`}},
		"a string without quotes":              {"object.status.phase == Succeeded", []string{`1:24: unknown name "Succeeded" (put strings in quotes: 'Succeeded')`}},
		"a label key after a dot":              {"object.metadata.labels.a/b == 'x'", []string{`1:26: unknown name "b" (put a key with / or - in brackets and quotes: object.metadata.?labels[?'a/b'].orValue(''))`}},
		"a reserved word":                      {"namespace == 'x'", []string{`1:1: "namespace" is a reserved word (did you mean object.metadata.namespace?)`}},
		"and":                                  {"finished(object) and true", []string{"1:18: syntax error: 'and' is not an operator (write &&)"}},
		"or":                                   {"finished(object) or true", []string{"1:18: syntax error: 'or' is not an operator (write ||)"}},
		"not":                                  {"not finished(object)", []string{"1:1: syntax error: 'not' is not an operator (write !)"}},
		"a macro without arguments":            {"object.status.conditions.exists()", []string{"1:26: exists() does not accept these arguments (it takes a name and a condition, such as object.status.conditions.exists(c, c.status == 'True'))"}},
		"has() without arguments":              {"has()", []string{"1:1: has() does not accept these arguments (it takes one field, such as has(object.status.phase))"}},
		"a label key with a dash":              {"object.metadata.labels.my-app == 'x'", []string{"1:27: unknown name \"app\" (put a key with / or - in brackets and quotes: object.metadata.?labels[?'my-app'].orValue(''))"}},
		"a duration and a number":              {"duration('1h') > 3600", []string{"1:16: > does not accept (duration, int) (write duration('3600s'), or days(7))"}},
		"quantities compared":                  {"quantity(object.x) > quantity('1Gi')", []string{"1:20: > does not accept (kubernetes.Quantity, kubernetes.Quantity) (compare quantities with functions, such as quantity('2Gi').isGreaterThan(quantity('1Gi')))"}},
		"now":                                  {"now > object.x", []string{"1:1: CEL has no clock " + clockHint}},
		"now()":                                {"now() > 3", []string{"1:1: CEL has no clock " + clockHint}},
		"time.now()":                           {"time.now()", []string{"1:1: CEL has no clock " + clockHint}},
		"timestamp.now()":                      {"timestamp.now() > object.x", []string{"1:1: CEL has no clock " + clockHint}},
		"a misspelt function":                  {"finishd(object)", []string{"1:1: unknown function finishd() (did you mean finished(object)?)"}},
		"a function in the wrong case":         {"Finished(object)", []string{"1:1: unknown function Finished() (did you mean finished(object)?)"}},
		"a misspelt library function":          {"object.a.startWith('x')", []string{"1:10: unknown function startWith() (did you mean object.a.startsWith('x')?)"}},
		"an unknown function":                  {"foo(object)", []string{"1:1: unknown function foo() (docs/reference/cel.md lists the functions)"}},
		"our function called on the object":    {"object.finished()", []string{"1:8: finished() needs arguments (write finished(object))"}},
		"our function without arguments":       {"finished()", []string{"1:1: finished() needs arguments (write finished(object))"}},
		"days of a string":                     {"days('7') > days(1)", []string{"1:1: days() does not accept (string) (write days(7))"}},
		"days in a duration":                   {"days(1) > duration('7d')", []string{"1:20: this is not a duration in CEL; the units are h, m, s, ms, us and ns (write days(7); in a rule you can also write ttl: 7d)"}},
		"days and hours in a duration":         {"days(1) > duration('1d12h')", []string{"1:20: this is not a duration in CEL; the units are h, m, s, ms, us and ns (write days(1) + duration('12h'); in a rule you can also write ttl: 1d12h)"}},
		"nonsense in a duration":               {"days(1) > duration('soon')", []string{"1:20: this is not a duration in CEL; the units are h, m, s, ms, us and ns (for days write days(7))"}},
		"nonsense in a timestamp":              {"timestamp('soon') == timestamp(object.x)", []string{"1:11: this is not a time in RFC 3339 (write a complete time, such as timestamp('2026-03-01T12:00:00Z'))"}},
		"a bad regular expression":             {"object.x.matches('(')", []string{"1:18: this is not a regular expression (the syntax is RE2; double each backslash in a CEL string, or write r'...')"}},
		"has() of a key":                       {"has(object.metadata.labels['a'])", []string{"1:27: has() takes a field, such as has(object.status.phase) (for a key write object.metadata.?labels[?'a'].hasValue())"}},
		"has() of the object":                  {"has(object)", []string{"1:5: has() takes a field, such as has(object.status.phase) (object is always present: test one of its fields)"}},
		"has() of a variable":                  {"has(variables.done)", []string{"1:4: variables are always present (use variables.done without has())"}},
		"a single =":                           {"object.status.phase = 'x'", []string{"1:21: syntax error: '=' is not an operator (to compare values, write ==)"}},
		"an expression that ends too early":    {"object.a &&", []string{"1:12: syntax error: the expression ends too early (something is missing after the last operator or parenthesis)"}},
		"a missing parenthesis":                {"finished(object", []string{"1:16: syntax error: missing ')' at the end"}},
		"a sum of a string and a time":         {"'x' + timestamp('2026-01-01T00:00:00Z') == 1", []string{"1:5: + does not accept (string, timestamp) (times in objects are strings: convert them, such as timestamp(object.metadata.creationTimestamp))"}},
		"a string and a number":                {"'a' == 1", []string{"1:5: == does not accept (string, int) (the other operand is a string: write '1')"}},
		"an optional value in a comparison":    {"object.status.?failed == 1", []string{"1:23: == does not accept (optional(any), int) (.? and [?] return optional values: set a default, such as object.status.?failed.orValue(0))"}},
		"in with a value that is not a list":   {"object.x in 3", []string{"1:10: in does not accept (any, int) (write VALUE in LIST, such as object.status.phase in ['Succeeded', 'Failed'])"}},
		"a list of several types":              {"object.x in [1, 'a']", []string{"1:17: string and int: the elements of a list or map must have one type (wrap each element in dyn(...))"}},
		"three nested loops":                   {"object.x.all(a, a.all(b, b.all(c, c)))", []string{"1:28: too many nested loops: all, exists, map, filter and other loop macros nest at most two levels deep"}},
		"a loop too many through a variable":   {"object.x.all(a, variables.loops)", []string{"1:1: after its variables are expanded: comprehension exceeds nesting limit (a variable that contains a loop counts as a loop where it is used; loops nest at most two levels deep)"}},
		"a loop variable named object":         {"object.x.exists(object, object.y)", []string{"1:16: a loop variable cannot have the name object (rename it, for example to o)"}},
		"a variable without variables":         {"!done", []string{`1:2: unknown name "done" (did you mean variables.done?)`}},
		"a key with more than one dash":        {"object.metadata.labels.a-b/c-d == 'x'", []string{`1:26: unknown name "b" (put a key with / or - in brackets and quotes: object.metadata.?labels[?'a-b/c-d'].orValue(''))`}},
		"only a key":                           {"app.kubernetes.io/part-of", []string{`1:1: unknown name "app" (put a key with / or - in brackets and quotes: object.metadata.?labels[?'app.kubernetes.io/part-of'].orValue(''))`}},
		"an unknown name with fields":          {"job.name == 'x'", []string{`1:1: unknown name "job" (read fields of the object, such as object.status.phase)`}},
		"an unknown name alone":                {"a", []string{`1:1: unknown name "a" (read fields of the object, such as object.status.phase, and labels as object.metadata.?labels[?'a'].orValue(''))`}},
		"has() of a key with a dash":           {"has(object.metadata.annotations.my-key)", []string{"1:35: has() takes a field, such as has(object.status.phase) (for a key write object.metadata.?annotations[?'my-key'].hasValue())"}},
		"an object of a request":               {"request.object.metadata.name == 'x'", []string{`1:1: unknown name "request.object" (did you mean object?)`}},
		"an object of Gatekeeper":              {"variables.anyObject.metadata.name == 'x'", []string{`1:1: unknown name "variables.anyObject" (did you mean object?)`}},
		"an operation":                         {"request.operation == 'DELETE'", []string{`1:1: unknown name "request" (an expression cannot read a request: read fields of the object, such as object.metadata.namespace)`}},
		"functions of an unknown name":         {"authorizer.group('').check('delete').allowed() && finishd(object)", []string{`1:1: unknown name "authorizer" (an expression cannot check permissions: remove it)`, "1:51: unknown function finishd() (did you mean finished(object)?)"}},
		"a negative lookahead":                 {"object.x.matches('^(?!keep)')", []string{"1:18: this is not a regular expression (the syntax is RE2, which does not support '(?!': write a second condition, such as !object.metadata.name.matches('^keep-'))"}},
		"a time that may be missing":           {"finishedAt(object) > timestamp('2026-01-01T00:00:00Z')", []string{"1:20: > does not accept (optional(timestamp), timestamp) (use an optional value inside optMap(): write finishedAt(object).optMap(t, t > timestamp('2026-01-01T00:00:00Z')).orValue(false))"}},
		"an optional value and null":           {"finishedAt(object) != null", []string{"1:20: an optional value is never null (write finishedAt(object).hasValue())"}},
		"null and an optional field":           {"null == object.status.?phase", []string{"1:6: an optional value is never null (write !object.status.?phase.hasValue())"}},
		"an optional value and a field":        {"object.status.?phase != object.spec.phase", []string{"1:22: an optional value and a value are never equal (set a default for a missing value, such as object.status.?phase.orValue(''))"}},
		"an optional time and a field":         {"finishedAt(object) == object.status.time", []string{"1:20: an optional value and a value are never equal (set a default for a missing value: add .orValue(VALUE))"}},
		"an optional variable and null":        {"variables.end != null", []string{"1:15: an optional value is never null (write variables.end.hasValue())"}},
		"an optional value in a list":          {"object.?phase in ['a']", []string{"1:15: in does not accept (optional(any), list(string)) (.? and [?] return optional values: set a default, such as object.?phase.orValue(''))"}},
		"a function of an optional value":      {"object.?name.startsWith('a')", []string{"1:14: optional(any) has no startsWith(string) (.? and [?] return optional values: set a default, such as object.?name.orValue(''))"}},
		"size of an optional value":            {"size(object.?list) == 0", []string{"1:1: size() does not accept (optional(any)) (.? and [?] return optional values: set a default, such as object.?list.orValue([]))"}},
		"a time of an optional value":          {"timestamp(object.?end) > timestamp('2026-01-01T00:00:00Z')", []string{"1:1: timestamp() does not accept (optional(any)) (.? and [?] return optional values: set a default, such as object.?end.optMap(v, timestamp(v)))"}},
		"! of an optional value":               {"!object.?suspend", []string{"1:1: ! does not accept (optional(any)) (.? and [?] return optional values: set a default, such as object.?suspend.orValue(false))"}},
		"&& of an optional value":              {"true && object.?suspend", []string{"1:15: the operands of && must be conditions, but object.?suspend is of type optional(any) (write object.?suspend.orValue(false))"}},
		"an optional condition":                {"object.?suspend ? true : false", []string{"1:17: CONDITION ? VALUE : OTHER does not accept (optional(any), bool, bool) (.? and [?] return optional values: set a default, such as object.?suspend.orValue(false))"}},
		"a loop over an optional value":        {"object.?list.exists(e, e == 1)", []string{"1:7: a loop iterates over a list or a map, and this is optional(any) (set a default for a missing value: add .orValue([]))"}},
		"has() of an optional field":           {"has(object.?status)", []string{"1:11: has() takes a field, such as has(object.status.phase) (write object.?status.hasValue())"}},
		"an optional time":                     {"finishedAt(object)", []string{"1:1: returns optional(timestamp), but eligible must return bool (to test whether there is a value, add .hasValue())"}},
		"a bool and a string":                  {"condition(object, 'Ready') == 'True'", []string{"1:28: == does not accept (bool, string) (the other operand is not a string: write true)"}},
		"isNull":                               {"isNull(object.x)", []string{"1:1: unknown function isNull() (write !has(object.x))"}},
		"a misspelt variable":                  {"variables.don", []string{`1:1: unknown variable "don" (did you mean variables.done?)`}},
		"an unknown variable":                  {"variables.other", []string{`1:1: unknown variable "other" (the variables before this are: done, end, loops)`}},
		"variables as an object":               {"variables.?done", []string{"1:1: variables is not an object (write variables.NAME)"}},
		"the wrong result":                     {"days(7)", []string{"1:1: returns duration, but eligible must return bool (write a condition, such as finished(object) or object.status.phase == 'Succeeded')"}},
		"an optional bool":                     {"optional.of(true)", []string{"1:1: returns optional(bool), but eligible must return bool (set a default for a missing value: add .orValue(false))"}},
		"two mistakes":                         {"statu.x == 1 ||\n  finishd(object)", []string{`1:1: unknown name "statu" (did you mean object.status?)`, "2:3: unknown function finishd() (did you mean finished(object)?)"}},
		"more characters than 10240":           {"'" + strings.Repeat("x", 10240) + "' == ''", []string{"1:1: the expression is longer than 10240 characters"}},
		"more than 100 nested parentheses":     {strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200), []string{"1:1: nested too deeply: calls, operators and parentheses nest at most 100 levels deep"}},
		"only blanks":                          {"  ", []string{"missing (write a condition, such as finished(object) or object.status.phase == 'Succeeded')"}},
		"a regular expression that is too big": {"object.x.matches('(a{900}){900}')", []string{"1:18: this is not a regular expression (the syntax is RE2; double each backslash in a CEL string, or write r'...')"}},
	}
	c := fixture.Compiler(t)
	variables := []v1alpha1.Variable{{Name: "done", Expression: "finished(object)"}, {Name: "end", Expression: "finishedAt(object)"}, {Name: "loops", Expression: "object.a.all(x, object.b.all(y, x == y))"}}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			compiled, problems := c.Rule(rule(tc.eligible), variables, "spec.rules[0]")
			if compiled != nil {
				t.Fatal("compiles")
			}
			var got []string
			for _, p := range problems {
				text := strings.TrimPrefix(p.String(), "spec.rules[0].eligible:")
				got = append(got, strings.TrimPrefix(text, " "))
				if _, example, found := strings.Cut(p.Hint, ", such as "); found && strings.HasPrefix(p.Hint, "it takes") {
					if _, problems := c.Rule(rule("true"), []v1alpha1.Variable{{Name: "example", Expression: example}}, ""); len(problems) > 0 {
						t.Errorf("the example of a hint does not compile: %v", problems)
					}
				}
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestTimesMayBeComparedAsText: times in RFC 3339 sort alphabetically.
func TestTimesMayBeComparedAsText(t *testing.T) {
	r := rule("object.metadata.creationTimestamp < '2026'")
	if _, problems := fixture.Compiler(t).Rule(r, nil, ""); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestFunctionsOfOtherLanguagesAreNotThoseOfCEL: a hint for a function that CEL has would never appear, because the
// expression compiles.
func TestFunctionsOfOtherLanguagesAreNotThoseOfCEL(t *testing.T) {
	for _, name := range diagnose.ForeignFunctions() {
		_, problems := fixture.Compiler(t).Rule(rule(name+"(object)"), nil, "")
		if len(problems) != 1 || problems[0].Message != "unknown function "+name+"()" {
			t.Errorf("CEL has a function %s(): %v", name, problems)
		}
	}
}
