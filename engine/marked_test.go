// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// loaded returns a rule of an enforced policy, and its program.
func loaded(t testing.TB, uid types.UID, changes ...func(*v1alpha1.Rule)) (*policy.Rule, *engine.Program) {
	t.Helper()
	r := rule()
	for _, change := range changes {
		change(&r)
	}
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p", UID: uid}, Spec: policy.Spec{Mode: v1alpha1.Enforce, Rules: []v1alpha1.Rule{r}}}
	p := d.Load(policy.DefaultProtection())
	programs := fixture.Compiler(t).Load(p)
	if len(p.Problems) > 0 {
		t.Fatal(p.Problems)
	}
	return p.Rules[0], programs[p.Rules[0].Key]
}

func markMode(r *v1alpha1.Rule) { r.StartTime = "" }

func eligibleIf(text string) func(*v1alpha1.Rule) {
	return func(r *v1alpha1.Rule) { r.Eligible = text }
}

// annotate returns a Job with one annotation.
func annotate(t testing.TB, name, value string) map[string]any {
	t.Helper()
	o := object(t, "job-complete")
	o["metadata"].(map[string]any)["annotations"] = map[string]any{name: value}
	return o
}

func TestFactsOfMarks(t *testing.T) {
	at := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	marked, _ := loaded(t, "u", markMode)
	mark := func(name, at string) string { return fmt.Sprintf(`{%q:%q}`, name, at) }
	const text = "2026-03-02T12:00:00Z"
	tests := map[string]struct {
		changes []func(*v1alpha1.Rule)
		marks   func(own string) string
		want    policy.Facts
		err     string
	}{
		"a mark":                            {nil, func(own string) string { return mark(own, text) }, policy.Facts{Selected: true, Eligible: true, Marked: true, Start: at}, ""},
		"a mark among other marks":          {nil, func(own string) string { return `{"other":"2026-03-01T00:00:00Z",` + mark(own, text)[1:] }, policy.Facts{Selected: true, Eligible: true, Marked: true, Start: at}, ""},
		"only other marks":                  {nil, func(string) string { return mark("other", text) }, policy.Facts{Selected: true, Eligible: true, Marked: true}, ""},
		"no mark":                           {nil, func(string) string { return "" }, policy.Facts{Selected: true, Eligible: true, Marked: true}, ""},
		"an invalid annotation":             {nil, func(own string) string { return own + "=" + text }, policy.Facts{Selected: true, Eligible: true, Marked: true}, ""},
		"a mark that is not a time":         {nil, func(own string) string { return mark(own, "soon") }, policy.Facts{Selected: true, Eligible: true, Marked: true}, ""},
		"marked, and not eligible":          {[]func(*v1alpha1.Rule){eligibleIf("false")}, func(own string) string { return mark(own, text) }, policy.Facts{Selected: true, Marked: true, Start: at}, ""},
		"marked, and not selected":          {[]func(*v1alpha1.Rule){selecting("web")}, func(own string) string { return mark(own, text) }, policy.Facts{Marked: true, Start: at}, ""},
		"marked, and an error":              {[]func(*v1alpha1.Rule){eligibleIf("object.nothing")}, func(own string) string { return mark(own, text) }, policy.Facts{Selected: true, Marked: true, Start: at}, "eligible: no such key: nothing; if the field can be absent, use .?field or has()"},
		"not marked, and an error":          {[]func(*v1alpha1.Rule){eligibleIf("object.nothing")}, func(string) string { return "" }, policy.Facts{Selected: true, Marked: true}, "eligible: no such key: nothing; if the field can be absent, use .?field or has()"},
		"the mark of an earlier expression": {[]func(*v1alpha1.Rule){eligibleIf("true")}, func(string) string { return mark(marked.Mark, text) }, policy.Facts{Selected: true, Eligible: true, Marked: true}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, program := loaded(t, "u", append([]func(*v1alpha1.Rule){markMode}, test.changes...)...)
			o := annotate(t, v1alpha1.EligibleSinceAnnotation, test.marks(r.Mark))
			got := program.Facts(t.Context(), o)
			if message := fmt.Sprint(got.Err); (got.Err != nil || test.err != "") && message != test.err {
				t.Errorf("error %s, want %s", message, test.err)
			}
			got.Err = nil
			expect.Equal(t, "facts", test.want, got)
		})
	}
}

// TestMarksOfOthersArePruned reads an object that has marks of an earlier installation, and writes a mark on it.
func TestMarksOfOthersArePruned(t *testing.T) {
	at := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	earlier, _ := loaded(t, "gone", markMode)
	r, program := loaded(t, "u", markMode)
	facts := program.Facts(t.Context(), annotate(t, v1alpha1.EligibleSinceAnnotation, `{"`+earlier.Mark+`":"2020-01-01T00:00:00Z"}`))
	facts.Start, facts.Estimated = at, true
	got := policy.EligibleSincePatchOf(policy.Subject{}, []policy.Evaluation{{Rule: r, Facts: facts, Known: true}}, at).Annotation()
	if want := `{"` + r.Mark + `":"2026-03-02T12:00:00Z"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKeysOfMarks(t *testing.T) {
	other := func(r *v1alpha1.Rule) { r.Name = "other" }
	ttl := func(r *v1alpha1.Rule) { r.TTL = "9d" }
	tests := map[string]struct {
		uid     types.UID
		changes []func(*v1alpha1.Rule)
		key     bool // the same key, with a startTime
		marks   bool // the same key and mark, without a startTime
	}{
		"the same rule":      {"u", nil, true, true},
		"another ttl":        {"u", []func(*v1alpha1.Rule){ttl}, true, true},
		"another policy":     {"v", nil, true, false},
		"another rule":       {"u", []func(*v1alpha1.Rule){other}, true, false},
		"another expression": {"u", []func(*v1alpha1.Rule){eligibleIf("true")}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			first, _ := loaded(t, "u")
			second, program := loaded(t, test.uid, test.changes...)
			if (first.Key == second.Key) != test.key || first.Mark+second.Mark != "" || program.Key() != second.Key {
				t.Errorf("keys %s and %s, marks %q and %q", first.Key, second.Key, first.Mark, second.Mark)
			}
			first, _ = loaded(t, "u", markMode)
			second, program = loaded(t, test.uid, append(test.changes, markMode)...)
			if (first.Key == second.Key) != test.marks || (first.Mark == second.Mark) != test.marks || second.Mark == "" || program.Key() != second.Key {
				t.Errorf("mark mode: keys %s and %s, marks %q and %q", first.Key, second.Key, first.Mark, second.Mark)
			}
		})
	}
}

func TestInvalidRuleDoesNotMark(t *testing.T) {
	r := rule()
	markMode(&r)
	r.TTL = "soon"
	p := (&policy.Document{Spec: policy.Spec{Rules: []v1alpha1.Rule{r}}}).Load(policy.Protection{})
	programs := fixture.Compiler(t).Load(p)
	if p.Rules[0].Mark != "" || programs[p.Rules[0].Key] == nil {
		t.Errorf("mark is %q", p.Rules[0].Mark)
	}
}

func TestMarkingRuleReadsItsMarks(t *testing.T) {
	_, program := loaded(t, "u", markMode, eligibleIf("object.metadata.labels.team == 'data'"))
	want := []string{"metadata.annotations['sunset-k8s.io/eligible-since']", "metadata.labels.team"}
	expect.Equal(t, "reads", want, program.Reads())
	if !program.MetadataOnly() {
		t.Error("it reads more than metadata")
	}
}

func TestFactsOfAnOwnTTL(t *testing.T) {
	const broken = `annotation sunset-k8s.io/ttl: "soon" is not a duration; write a number and a unit such as 30m, 7d or 1d12h`
	at := time.Date(2026, time.March, 1, 12, 10, 0, 0, time.UTC)
	eligible := policy.Facts{Selected: true, Eligible: true, Start: at}
	refusing := func(r *v1alpha1.Rule) {
		r.OverrideBounds = &v1alpha1.OverrideBounds{TTLAnnotation: v1alpha1.TTLAnnotationIgnore}
	}
	tests := map[string]struct {
		ttl    any
		change func(*v1alpha1.Rule)
		want   policy.Facts
		err    string
	}{
		"a valid TTL":                             {"2h", eligibleIf("true"), eligible, ""},
		"an invalid TTL":                          {"soon", eligibleIf("true"), policy.Facts{Selected: true}, broken},
		"an invalid TTL, not eligible":            {"soon", eligibleIf("false"), policy.Facts{Selected: true}, ""},
		"an invalid TTL, not selected":            {"soon", selecting("web"), policy.Facts{}, ""},
		"an invalid TTL, not allowed by the rule": {"soon", refusing, policy.Facts{Selected: true}, broken},
		"a negative TTL":                          {"-1h", eligibleIf("true"), policy.Facts{Selected: true}, `annotation sunset-k8s.io/ttl: "-1h" is not a duration; write a number and a unit such as 30m, 7d or 1d12h`},
		"an empty TTL":                            {"", eligibleIf("true"), policy.Facts{Selected: true}, "annotation sunset-k8s.io/ttl: empty; write a duration such as 30m, 7d or 0s"},
		"a TTL that is not a string":              {int64(3), eligibleIf("true"), policy.Facts{Selected: true}, "annotation sunset-k8s.io/ttl: empty; write a duration such as 30m, 7d or 0s"},
		"null":                                    {nil, eligibleIf("true"), policy.Facts{Selected: true}, "annotation sunset-k8s.io/ttl: empty; write a duration such as 30m, 7d or 0s"},
		"the error of eligible comes first":       {"soon", eligibleIf("object.kind"), policy.Facts{Selected: true}, "eligible: returned string, must return bool"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			test.change(&r)
			o := object(t, "job-complete")
			o["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.TTLAnnotation: test.ttl}
			got := factsOf(t, r, o)
			if message := fmt.Sprint(got.Err); (got.Err != nil || test.err != "") && message != test.err {
				t.Errorf("error %s, want %s", message, test.err)
			}
			got.Err = nil
			expect.Equal(t, "facts", test.want, got)
			s, err := engine.SubjectOf(o)
			if readable := test.ttl == "2h"; err != nil || s.Flags.Has(policy.HasTTL) != readable || readable && s.OwnTTL != 2*time.Hour {
				t.Errorf("subject %+v, %v", s, err)
			}
		})
	}
}

func TestFactsOfGroups(t *testing.T) {
	const wants = "keepNewest.groupBy: returned %s, must return string"
	tests := map[string]struct {
		groupBy string
		group   string
		err     string
	}{
		"no groupBy":                     {"", "", ""},
		"a label":                        {"object.metadata.labels.app", "report", ""},
		"a missing label with a default": {"object.metadata.?labels[?'owner'].orValue('')", "", ""},
		"two labels":                     {"object.metadata.labels.app + '/' + object.metadata.labels.team", "report/data", ""},
		"a missing label":                {"object.metadata.labels.owner", "", "keepNewest.groupBy: no such key: owner; if the field can be absent, use .?field or has()"},
		"a number":                       {"object.spec.completions", "", fmt.Sprintf(wants, "int")},
		"a map":                          {"object.metadata.labels", "", fmt.Sprintf(wants, "map")},
		"null":                           {"dyn(null)", "", fmt.Sprintf(wants, "null")},
		"an optional":                    {"dyn(object.metadata.?labels)", "", fmt.Sprintf(wants, "optional")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := rule()
			r.KeepNewest = &v1alpha1.KeepNewest{Count: 1, GroupBy: test.groupBy}
			got := factsOf(t, r, object(t, "job-complete"))
			if message := fmt.Sprint(got.Err); (got.Err != nil || test.err != "") && message != test.err {
				t.Errorf("error %s, want %s", message, test.err)
			}
			if got.Group != test.group || (got.Err != nil) == got.Eligible {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestGroupsAreAskedLast(t *testing.T) {
	r := rule()
	r.KeepNewest = &v1alpha1.KeepNewest{Count: 1, GroupBy: "object.nothing"}
	r.Eligible = "false"
	if got := factsOf(t, r, object(t, "job-complete")); !reflect.DeepEqual(got, policy.Facts{Selected: true}) {
		t.Errorf("got %+v", got)
	}
}

func TestGroupOfAnotherTypeDoesNotCompile(t *testing.T) {
	for _, text := range []string{"1", "true", "['a']", "optional.of('a')", "now"} {
		r := rule()
		r.KeepNewest = &v1alpha1.KeepNewest{Count: 1, GroupBy: text}
		compiled, problems := fixture.Compiler(t).Rule(r, nil, "spec.rules[0]")
		if compiled != nil || len(problems) != 1 || problems[0].Path != "spec.rules[0].keepNewest.groupBy" {
			t.Errorf("%s: problems %v", text, problems)
		}
	}
}

func TestKeyHasTheGroup(t *testing.T) {
	c := fixture.Compiler(t)
	with := func(k *v1alpha1.KeepNewest) string {
		r := rule()
		r.KeepNewest = k
		return mustCompile(t, c, r).Key()
	}
	if with(nil) != with(&v1alpha1.KeepNewest{Count: 1}) || with(&v1alpha1.KeepNewest{Count: 1, GroupBy: "'a'"}) != with(&v1alpha1.KeepNewest{Count: 2, GroupBy: "'a'"}) {
		t.Error("the count changes the key")
	}
	if with(nil) == with(&v1alpha1.KeepNewest{Count: 1, GroupBy: "'a'"}) || with(&v1alpha1.KeepNewest{GroupBy: "'b'"}) == with(&v1alpha1.KeepNewest{GroupBy: "'a'"}) {
		t.Error("another groupBy does not change the key")
	}
}

// TestEvaluatorTellsGroupsApart: an Evaluator shares the strings of groups, even if there are more than it stores.
func TestEvaluatorTellsGroupsApart(t *testing.T) {
	c := fixture.Compiler(t)
	r := rule()
	r.KeepNewest = &v1alpha1.KeepNewest{Count: 1, GroupBy: "object.metadata.name"}
	program := mustCompile(t, c, r)
	e := c.NewEvaluator(t.Context())
	defer e.Close()
	o := object(t, "job-complete")
	for i := range 10_300 {
		name := fmt.Sprint("job-", i)
		if i%100 == 7 {
			name = ""
		}
		o["metadata"].(map[string]any)["name"] = name
		if got := e.Facts(program, o); got.Err != nil || got.Group != name {
			t.Fatalf("%q: got %+v", name, got)
		}
	}
}

// TestDecoderReadsWhatSettingsAndMarksNeed decodes a Job with all annotations of Sunset, for rules that read no
// annotation.
func TestDecoderReadsWhatSettingsAndMarksNeed(t *testing.T) {
	text := strings.Replace(decodedJob, `"other":"z"`,
		`"other":"z","sunset-k8s.io/ttl":"2h","sunset-k8s.io/eligible-since":"{}","kubernetes.io/config.mirror":"m"`, 1)
	always := map[string]any{"sunset-k8s.io/hold": "true", "sunset-k8s.io/ttl": "2h", "kubernetes.io/config.mirror": "m"}
	withMarks := map[string]any{"sunset-k8s.io/eligible-since": "{}"}
	for name, value := range always {
		withMarks[name] = value
	}
	_, plain := loaded(t, "u")
	_, marks := loaded(t, "u", markMode)
	for name, test := range map[string]struct {
		rules []*engine.Program
		want  map[string]any
	}{
		"no rule":           {nil, always},
		"a rule":            {[]*engine.Program{plain}, always},
		"a rule that marks": {[]*engine.Program{plain, marks}, withMarks},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := engine.NewDecoder(test.rules...).Decode([]byte(text))
			expect.NoError(t, err)
			expect.Equal(t, "annotations", any(test.want), got["metadata"].(map[string]any)["annotations"])
		})
	}
}
