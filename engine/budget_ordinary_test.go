// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// ordinary expressions are true, with and without the budget.
var ordinary = map[string]string{
	"sums":                         "'a' + object.s == 'aabc' && b'a' + b'b' == b'ab' && 1 + object.n == 3 && object.l + [4] == [3, 1, 2, 4]",
	"sums of time":                 "timestamp(object.t) + days(1) - duration('1h') == timestamp('2026-03-01T23:00:00Z')",
	"sums of other things":         "object.x + ['a'] == object.x + ['a'] || true",
	"replace":                      "object.s.replace('b', 'xx') == 'axxc' && 'aaa'.replace('a', '', 2) == 'a' && 'ab'.replace('', '-') == '-a-b-'",
	"join and split":               "object.s.split('').join('-') == 'a-b-c' && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && ['a', 'b'].join() == 'ab'",
	"format":                       "'%s-%d-%.2f-%x'.format([object.m, object.n, 1.5, 'a']) == '{a: [1, 2]}-2-1.50-61'",
	"characters":                   "object.s.charAt(1) == 'b' && object.s.substring(1, 2) == 'b' && object.s.reverse() == 'cba' && strings.quote(object.s) == '\"abc\"'",
	"case":                         "object.s.upperAscii().lowerAscii() == object.s && object.s.trim() == 'abc'",
	"places":                       "object.s.indexOf('c') == 2 && object.s.lastIndexOf('a', 1) == 0 && object.l.indexOf(2) == 2 && object.l.lastIndexOf(9) == -1",
	"conversions":                  "string(object.n) == '2' && string(bytes(object.s)) == 'abc' && int('7') == 7 && double('1.5') == 1.5 && string(1) == '1'",
	"lists":                        "object.l.sort() == [1, 2, 3] && object.l.slice(0, 2) == [3, 1] && object.l.reverse() == [2, 1, 3] && lists.range(2) == [0, 1]",
	"more lists":                   "[[1], [2]].flatten() == [1, 2] && [dyn(1), dyn([dyn(2), dyn([3])])].flatten(2) == [1, 2, 3] && [1, 1, 2].distinct() == [1, 2] && object.l.sortBy(x, -x) == [3, 2, 1]",
	"options":                      "[optional.of(1), optional.none()].unwrapOpt() == [1] && optional.unwrap([optional.of(1)]) == [1] && optional.of(1) == optional.of(1)",
	"sets":                         "sets.contains(object.l, [1, 2]) && sets.equivalent(object.l, [1, 2, 3]) && !sets.intersects(object.l, [9])",
	"in":                           "2 in object.l && !('b' in object.m) && object.s in [object.t, object.s]",
	"equality":                     "object.l == object.l && object.m == {'a': [1, 2]} && object.l != [3] && object.n == 2.0 && object.s != object.t",
	"regular expressions":          "object.s.matches('^a{1}[b-c]{2}$') && matches(object.s, object.s) && object.s.find('b.') == 'bc' && object.s.find(object.s) == 'abc'",
	"all of them":                  "object.s.findAll('[ab]') == ['a', 'b'] && object.s.findAll('.', 1) == ['a'] && object.s.findAll(object.s, 2) == ['abc']",
	"loops with two variables":     "object.l.transformMapEntry(i, x, {string(x): i}) == {'3': 0, '1': 1, '2': 2} && object.m.transformMap(k, v, k + 'x') == {'a': 'ax'}",
	"quantities":                   "quantity('1e3').add(quantity('1k')) == quantity('2k') && isQuantity('12E') && isQuantity('1.5Gi') && !isQuantity('x')",
	"addresses, versions and URLs": "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && isSemver('1.2.3') && url('http://a:1/b').getPort() == '1'",
	"time zones":                   "timestamp(object.t).getHours('Europe/Berlin') == 1 && timestamp(object.t).getHours() == 0",
	"formats":                      "!format.dns1123Label().validate(object.s).hasValue()",
	"an error before the price":    "(object.absent + 'x' == 'x') || true",
}

func TestGuardedFunctionsWorkAsEver(t *testing.T) {
	c := fixture.Compiler(t)
	input := fixture.Decode(t, `{s: abc, "n": 2, l: [3, 1, 2], m: {a: [1, 2]}, t: "2026-03-01T00:00:00Z", x: [[]]}`)
	for name, text := range ordinary {
		t.Run(name, func(t *testing.T) {
			e := mustHold(t, c, text, input)
			if v, err := e.CommonValue(input); err != nil || v != types.True {
				t.Errorf("in cel-go alone %s returns %v, %v", text, v, err)
			}
		})
	}
}

// mustHold compiles an expression and checks that it is true for an object.
func mustHold(t *testing.T, c *engine.Compiler, text string, object map[string]any) *engine.Expression {
	t.Helper()
	e, ok := c.Expression(text)
	if !ok {
		t.Fatal("does not compile")
	}
	if v, err := e.Value(object); err != nil || v != types.True {
		t.Errorf("%s returns %v, %v", text, v, err)
	}
	return e
}

// TestBudgetIsOfOneRuleAndOneObject: the expressions of a rule share one budget, and each object has its own.
func TestBudgetIsOfOneRuleAndOneObject(t *testing.T) {
	c := fixture.Compiler(t)
	job := object(t, "job-complete")
	job["text"] = strings.Repeat("x", engine.MaxBuilt/4)
	r := rule()
	r.Eligible = "object.text + object.text != ''" // half of the budget
	half := mustCompile(t, c, r)
	r.StartTime = "object.text + object.text != '' ? object.status.completionTime : ''"
	whole := mustCompile(t, c, r)
	r.TTL, r.TTLExpression = "", "object.text + 'x' != '' ? days(1) : days(2)"
	more := mustCompile(t, c, r)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	for range 3 {
		for name, r := range map[string]*engine.Program{"half": half, "all": whole} {
			if f := e.Facts(r, job); f.Err != nil {
				t.Errorf("%s of the budget: %v", name, f.Err)
			}
		}
		want := "ttlExpression: " + refused
		if f := e.Facts(more, job); f.Err == nil || !strings.HasPrefix(f.Err.Error(), want) {
			t.Errorf("got %v, want %s", f.Err, want)
		}
	}
}

// TestLargeObjectsCanBeRead evaluates realistic expressions on objects of the largest size that Kubernetes stores.
func TestLargeObjectsCanBeRead(t *testing.T) {
	data, items := map[string]any{}, []any{}
	for i := range 1000 {
		key := strings.Repeat("k", i%60+1) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		data[key] = strings.Repeat("some words, and then a line\n", 50)
		items = append(items, map[string]any{"name": key, "state": "done", "needs": []any{key}})
	}
	large := object(t, "job-complete")
	large["data"], large["items"] = data, items
	c := fixture.CompilerWith(t, engine.Options{EvalDeadline: longestRefusal}) // the test is about the budget only
	for _, text := range []string{
		"object.data.all(k, v, v.lowerAscii().contains('words'))",
		"object.data.all(k, v, v.split('\\n').size() == 51)",
		"object.data.all(k, v, v.matches('^some [a-z]+'))",
		"object.data.all(k, v, v.indexOf('words') > 0)",
		"size(object.data.map(k, k + '=' + object.data[k]).join('&')) > 1000000",
		"object.items.map(i, i.name + '/' + i.state).distinct().size() == 1000",
		"sets.equivalent(object.items.map(i, i.name), object.data.map(k, k))",
		"cel.bind(names, object.items.map(i, i.name), object.items.all(i, i.needs.all(n, n in names)))",
		"object.items.filter(i, '%s is %s'.format([i.name, i.state]).endsWith('done')).size() == 1000",
		"object.items.sortBy(i, i.name).map(i, i.needs).flatten().size() == 1000",
		"object.items == object.items && object.data == object.data",
	} {
		r := rule()
		r.Eligible = text
		f := mustCompile(t, c, r).Facts(t.Context(), large)
		if f.Err != nil || !f.Eligible {
			t.Errorf("%s: %+v", text, f)
		}
	}
}
