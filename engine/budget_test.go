// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/memory"
)

const (
	// mostAllocated is how much a refused evaluation may allocate: it may reach MaxBuilt, and growing values are
	// copied, so the limit is four times MaxBuilt.
	mostAllocated = 4 * engine.MaxBuilt
	// longestRefusal is the time after which an evaluation counts as endless, on a busy machine with the race detector.
	// Without that, most evaluations take milliseconds, and the longest a third of a second.
	longestRefusal = 30 * time.Second
	refused        = "builds more than 16 MiB"
)

// largeObject is as large as the largest objects that Kubernetes stores, or larger.
func largeObject(t testing.TB) map[string]any {
	var numbers, names []any
	for i := range 300_000 {
		numbers = append(numbers, int64(i))
	}
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("name-%d", i))
	}
	conditions := slices.Repeat([]any{map[string]any{}}, len(numbers))
	text := strings.Repeat("x", 1<<20)
	maps, lists := any(text), any(numbers)
	for range 500 {
		maps, lists = map[string]any{"below": maps}, []any{lists}
	}
	job := object(t, "job-complete")
	job["metadata"].(map[string]any)["ownerReferences"] = conditions
	status := job["status"].(map[string]any)
	status["conditions"] = append(status["conditions"].([]any), conditions...)
	job["spec"] = map[string]any{
		"text": text, "needle": text[:1<<19] + "y", "digits": strings.Repeat("9", 1<<20), "format": strings.Repeat("%.100f", 100_000),
		"regex": strings.Repeat("x{1000}", 150_000), "numbers": numbers, "names": names, "maps": maps, "lists": lists,
		"path": strings.Repeat("%20", 200_000),
	}
	return job
}

// binds nests 35 bindings: the first binds first, and each other binds next with V replaced by the variable before it.
func binds(first, next, last string) string {
	const levels = 35
	text := "cel.bind(v0, " + first + ", "
	for i := range levels {
		text += fmt.Sprintf("cel.bind(v%d, %s, ", i+1, strings.ReplaceAll(next, "V", fmt.Sprintf("v%d", i)))
	}
	return text + strings.ReplaceAll(last, "V", fmt.Sprintf("v%d", levels)) + strings.Repeat(")", levels+1)
}

// often returns a list of many equal calls, whose results are in memory at the same time.
func often(call string) string { return "size([" + strings.Repeat(call+", ", 200) + "]) > 0" }

// manyTimes returns a loop that never ends early.
func manyTimes(call string) string { return "lists.range(10000).all(x, " + call + ")" }

// twice builds a list of a few bytes that contains 2^35 elements.
const twice = "[dyn(V), dyn(V)]"

// attacks are expressions that compile, but would never end or allocate without a limit.
var attacks = map[string]string{
	"size of a long string in a loop":      "lists.range(200).all(x, lists.range(200).all(y, object.spec.text.size() > 0))",
	"search of a long string in a loop":    "lists.range(200).all(x, lists.range(200).all(y, !object.spec.text.contains(object.spec.needle)))",
	"comparison of long strings in a loop": "lists.range(200).all(x, lists.range(200).all(y, object.spec.needle > object.spec.text))",
	"text doubled":                         binds("'xxxxxxxxxx'", "V + V", "size(V) > 0"),
	"bytes doubled":                        binds("b'xxxxxxxxxx'", "V + V", "size(V) > 0"),
	"a list doubled":                       binds("[1, 2]", "V + V", "3 in V"),
	"a list of itself, compared":           binds("[dyn(object.kind)]", twice, "V == V"),
	"a list of itself, unequal":            binds("[dyn(object.kind)]", twice, "V != V"),
	"a list of itself, searched":           binds("[dyn(object.kind)]", twice, "V.indexOf(dyn(V)) == 1"),
	"a list of itself, in a list":          binds("[dyn(object.kind)]", twice, "dyn(V) in [dyn(V)]"),
	"a list of itself, as set":             binds("[dyn(object.kind)]", twice, "sets.contains(V, V)"),
	"a list of itself, distinct":           binds("[dyn(object.kind)]", twice, "size(V.distinct()) == 1"),
	"a list of itself, written":            binds("[dyn(object.kind)]", twice, "size('%s'.format([V])) > 0"),
	"a list of itself, flat":               binds("[dyn(object.kind)]", twice, "size(V.flatten(40)) > 0"),
	"a list of itself, joined":             binds("[dyn(object.kind)]", twice, "[dyn('a'), dyn(V)].join('') == ''"),
	"a list of itself, as key":             binds("[dyn(object.kind)]", twice, "size([1, 2].transformMapEntry(i, x, {dyn(V): x})) > 0"),
	"a list of optionals of itself":        binds("[dyn(object.kind)]", "[optional.of(dyn(V)), optional.of(dyn(V))]", "V == V"),
	"sums of long strings":                 often("object.spec.text + 'a'"),
	"sums behind ||":                       strings.Repeat("object.spec.text + 'a' == object.kind + 'b' || ", 100) + "false",
	"replace of nothing":                   "size(object.spec.text.replace('', object.spec.text)) > 0",
	"replace with a limit":                 "size(object.spec.text.replace('x', object.spec.text, 100)) > 0",
	"join with a long separator":           "size(object.spec.names.join(object.spec.text)) > 0",
	"join of long strings":                 "size([" + strings.Repeat("object.spec.text, ", 200) + "].join()) > 0",
	"format of long strings":               "size('" + strings.Repeat("%s", 200) + "'.format([" + strings.Repeat("object.spec.text, ", 200) + "])) > 0",
	"format of maps in maps":               "size('%s'.format([object.spec.maps])) > 0",
	"format with many numbers":             "size(object.spec.format.format(object.spec.numbers)) > 0",
	"split":                                often("object.spec.text.split('')"),
	"split with a limit":                   often("object.spec.text.split('', 1000000)"),
	"lowerAscii":                           often("object.spec.text.lowerAscii()"),
	"upperAscii":                           often("object.spec.text.upperAscii()"),
	"reverse of text":                      often("object.spec.text.reverse()"),
	"strings.quote":                        often("strings.quote(object.spec.text)"),
	"substring":                            often("object.spec.text.substring(1)"),
	"charAt":                               often("object.spec.text.charAt(1)"),
	"indexOf in text":                      "object.spec.text.indexOf(object.spec.needle) > 0",
	"lastIndexOf in text":                  often("object.spec.text.lastIndexOf('y')"),
	"bytes":                                often("bytes(object.spec.text)"),
	"findAll":                              often("object.spec.text.findAll('x+?', 10000)"),
	"flatten":                              "size(lists.range(10000).map(i, object.spec.numbers).flatten()) > 0",
	"flatten of lists in lists":            "size(object.spec.lists.flatten(1000)) > 0",
	"sort":                                 often("object.spec.numbers.sort()"),
	"sortBy":                               often("object.spec.names.sortBy(n, n)"),
	"slice":                                often("object.spec.numbers.slice(0, 299999)"),
	"reverse of a list":                    often("object.spec.numbers.reverse()"),
	"lists.range":                          often("lists.range(10000)"),
	"distinct":                             "size(object.spec.numbers.distinct()) > 0",
	"sets.equivalent":                      "sets.equivalent(object.spec.numbers, object.spec.numbers)",
	"sets.intersects":                      "sets.intersects(object.spec.numbers, object.spec.names)",
	"in, many times":                       often("'x' in object.spec.numbers"),
	"isSorted":                             manyTimes("object.spec.numbers.isSorted()"),
	"sum":                                  manyTimes("object.spec.numbers.sum() > 0"),
	"min":                                  manyTimes("object.spec.numbers.min() == 0"),
	"max":                                  manyTimes("object.spec.numbers.max() > 0"),
	"math.greatest":                        manyTimes("math.greatest(object.spec.numbers) > 0"),
	"math.least":                           manyTimes("math.least(object.spec.numbers) == 0"),
	"includes":                             manyTimes("!object.spec.numbers.includes('x')"),
	"condition":                            manyTimes("!condition(object, 'Ready')"),
	"finished":                             manyTimes("finished(object)"),
	"conditionTime of one type":            manyTimes("!conditionTime(object, 'Ready').hasValue()"),
	"controllerOf":                         manyTimes("!controllerOf(object).hasValue()"),
	"configMapsIn of nothing":              manyTimes("size(configMapsIn(object.spec)) == 0"),
	"imageTag":                             manyTimes("imageTag(object.spec.text) == ''"),
	"conditionTime":                        often("conditionTime(object, dyn(object.spec.names))"),
	"map with sums":                        "size(lists.range(10000).map(i, object.spec.text + 'x')) > 0",
	"exists with sums":                     "lists.range(10000).exists(i, object.spec.text + 'x' == object.kind)",
	"transformMap with sums":               "size(lists.range(10000).transformMap(i, x, object.spec.text + 'x')) > 0",
	"transformList with sums":              "size(lists.range(10000).transformList(i, x, object.spec.text + 'x')) > 0",
	"numbers of many digits":               often("isQuantity(object.spec.digits)"),
	"quantities of many digits":            "quantity('1e2147483647').isGreaterThan(quantity('1'))",
	"quantities of very few":               "quantity('1').isGreaterThan(quantity('1e-2147483647'))",
	"times that are long strings":          strings.Repeat("timestamp(object.spec.text) == timestamp(0) || ", 100) + "false",
	"addresses that are long strings":      often("isIP(object.spec.text)"),
	"URLs that are long strings":           often("isURL(object.spec.text)"),
	"a long URL":                           "url('https://h/' + object.spec.path).getHost() == ''",
	"paths of a URL":                       "cel.bind(u, url('https://h/' + object.spec.path.substring(0, 15000)), " + manyTimes("u.getEscapedPath() != ''") + ")",
	"paths of a URL in a list":             "cel.bind(u, url('https://h/' + object.spec.path.substring(0, 15000)), size(lists.range(10000).map(i, u.getEscapedPath())) > 0)",
	"queries of a URL in a list":           "cel.bind(u, url('https://h/?' + object.spec.path.substring(0, 15000)), size(lists.range(10000).map(i, u.getQuery())) > 0)",
	"time zones that are long strings":     strings.Repeat("timestamp(0).getHours(object.spec.text) == 1 || ", 100) + "false",
	"formats of long strings":              often("format.byte().validate(object.spec.text)"),
	"a slow regular expression":            often("object.spec.text.matches('(x+x+)+y')"),
	"large regular expressions":            often("'x'.find('x{900}x{900}x{900}' + object.kind)"),
}

func TestEvaluationMemoryIsBounded(t *testing.T) {
	large := largeObject(t)
	for name, text := range attacks {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Eligible = text
			c, want := patientCompiler(t), refused
			switch {
			case strings.Contains(text, "||"):
				want = "" // || returns its first error
			case strings.Contains(text, ".sortBy("):
				c, want = fixture.Compiler(t), "" // the deadline ends this loop
			}
			mustRefuse(t, c, mustCompile(t, c, r), large, want)
		})
	}
}

// patientCompiler has a deadline that a busy machine does not reach before the budget.
func patientCompiler(t *testing.T) *engine.Compiler {
	t.Helper()
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: longestRefusal / 2})
	return c
}

func TestVariablesMemoryIsBounded(t *testing.T) {
	for name, next := range map[string]string{
		"text":  "variables.V + variables.V",
		"lists": "[variables.V, variables.V].flatten()",
	} {
		t.Run(name, func(t *testing.T) {
			c := patientCompiler(t)
			variables := []v1alpha1.Variable{{Name: "v0", Expression: map[string]string{"text": "'xxxxxxxxxx'", "lists": "[1, 2]"}[name]}}
			for i := range 63 {
				text := strings.ReplaceAll(next, "V", fmt.Sprintf("v%d", i))
				variables = append(variables, v1alpha1.Variable{Name: fmt.Sprintf("v%d", i+1), Expression: text})
			}
			r := rule()
			r.Eligible = "size(variables.v63) > 0"
			mustRefuse(t, c, mustCompile(t, c, r, variables...), object(t, "job-complete"), refused)
		})
	}
}

func TestRegularExpressionsOfObjectsAreBounded(t *testing.T) {
	c, large := patientCompiler(t), largeObject(t)
	tests := map[string]struct{ text, want string }{
		"a long one":       {"object.spec.text.matches(object.spec.regex)", refused},
		"a large one":      {"'x'.find(object.spec.regex.substring(0, 1400)) == ''", "instructions; the limit is 10000"},
		"a large one, all": {"size('x'.findAll(object.spec.regex.substring(0, 1400))) == 0", "instructions; the limit is 10000"},
		"a long list":      {"size(object.spec.text.findAll('x')) > 0", refused},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.Eligible = tc.text
			mustRefuse(t, c, mustCompile(t, c, r), large, tc.want)
		})
	}
	// cel-go evaluates a regular expression that is not a literal twice, so 35 nested ones would take 2^35 steps.
	r := rule()
	r.Eligible = "'x'.matches(" + strings.Repeat("'x'.matches(", 35) + "object.kind" + strings.Repeat(") ? 'a' : 'x'", 35) + ")"
	if f := mustCompile(t, c, r).Facts(t.Context(), large); f.Err != nil {
		t.Error(f.Err)
	}
}

func mustRefuse(t *testing.T, c *engine.Compiler, r *engine.Program, object map[string]any, want string) {
	t.Helper()
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	answer := make(chan policy.Facts, 1)
	allocated := memory.Allocated(func() {
		go func() { answer <- e.Facts(r, object) }()
		select {
		case f := <-answer:
			if f.Err == nil || !strings.Contains(f.Err.Error(), want) {
				t.Errorf("got %+v, want an error with %q", f, want)
			}
		case <-time.After(longestRefusal):
			panic("an evaluation does not end: " + t.Name()) // continuing would use all resources of the machine
		}
	})
	if allocated > mostAllocated {
		t.Errorf("allocated %d MiB", allocated>>20)
	}
}
