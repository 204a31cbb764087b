// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// recipeObjects are the objects of the recipes, by their names on the page. Their times are those of testdata/objects.
var recipeObjects = map[string]string{
	"a complete Job":         "testdata/objects/job-complete.yaml",
	"a failed Job":           "testdata/objects/job-failed.yaml",
	"a running Job":          "testdata/objects/job-running.yaml",
	"a running Pod":          "testdata/objects/pod-running.yaml",
	"an evicted Pod":         "testdata/objects/pod-evicted.yaml",
	"a ConfigMap":            "testdata/objects/configmap.yaml",
	"a Secret":               `{apiVersion: v1, kind: Secret, metadata: META, type: Opaque}`,
	"a Pod with 512Mi":       `{apiVersion: v1, kind: Pod, metadata: META, spec: {containers: [{resources: {requests: {memory: 512Mi}}}]}}`,
	"a Job with its own ttl": `{apiVersion: batch/v1, kind: Job, metadata: META, spec: {ttlSecondsAfterFinished: 600}}`,
	"an Event":               `{apiVersion: v1, kind: Event, metadata: META, eventTime: null, lastTimestamp: "2026-03-01T12:30:00Z"}`,
	"a Build":                `{apiVersion: example.com/v1, kind: Build, metadata: META, status: {phase: Done}}`,
}

const recipeMeta = `{name: report, namespace: team-a, creationTimestamp: "2026-03-01T12:00:00Z"}`

func recipeObject(t *testing.T, called string) map[string]any {
	t.Helper()
	text, ok := recipeObjects[called]
	if !ok {
		t.Fatalf("unknown object %q", called)
	}
	if strings.HasSuffix(text, ".yaml") {
		data, err := os.ReadFile(text)
		expect.NoError(t, err)
		text = string(data)
	}
	return fixture.Decode(t, strings.Replace(text, "META", recipeMeta, 1))
}

// try is one example of a recipe, right or wrong.
type try struct {
	wrong  bool
	object string // the object to evaluate
	text   string // a part of a policy, or policies
	gives  string // the result on the page; empty if the example only has to be valid
}

var (
	recipeBlock = regexp.MustCompile("(?s)```yaml recipe\n(.*?)```")
	recipeMark  = regexp.MustCompile(`^# (✗|✓)(?: of (.*))?$`)
)

// triesOf reads the block of a recipe: "# ✗ of OBJECT" or "# ✓", then the example, and after "# →" the result.
func triesOf(t *testing.T, block string) []try {
	t.Helper()
	var tries []try
	object := ""
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, "\n")
		if mark := recipeMark.FindStringSubmatch(line); mark != nil {
			if mark[2] != "" {
				object = mark[2]
			}
			tries = append(tries, try{wrong: mark[1] == "✗", object: object})
			continue
		}
		if len(tries) == 0 {
			t.Fatalf("%q comes before the first mark", line)
		}
		last := &tries[len(tries)-1]
		gives, isResult := strings.CutPrefix(line, "# → ")
		more, isMore := strings.CutPrefix(line, "#   ")
		switch {
		case isResult:
			last.gives = gives
		case isMore && last.gives != "":
			last.gives += " " + more
		default:
			last.text += line + "\n"
		}
	}
	return tries
}

// TestRecipes tries every example in docs/tasks/correct-mistakes.md, right and wrong.
func TestRecipes(t *testing.T) {
	page, err := os.ReadFile("../docs/tasks/correct-mistakes.md")
	expect.NoError(t, err)
	sections := strings.Split(string(page), "\n## ")[1:]
	if blocks := strings.Count(string(page), "```yaml"); blocks != len(sections) || len(sections) < 20 {
		t.Errorf("%d blocks in %d sections: each recipe must have one block, which is tested", blocks, len(sections))
	}
	c := fixture.Compiler(t)
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			block := recipeBlock.FindStringSubmatch(section)
			if block == nil {
				t.Fatal("the section has no recipe")
			}
			checkTries(t, c, triesOf(t, block[1]))
		})
	}
}

func checkTries(t *testing.T, c *engine.Compiler, tries []try) {
	wrong, right := 0, 0
	for _, try := range tries {
		happens, understood := whatHappens(t, c, try)
		if try.wrong {
			wrong++
		} else {
			right++
		}
		if !try.wrong && !understood {
			t.Errorf("the page says that this is right:\n%s%s", try.text, happens)
		}
		if try.wrong && strings.Trim(try.gives, "… ") == "" {
			t.Errorf("the page has no result for:\n%s%s", try.text, happens)
		}
		if try.gives != "" && !like(try.gives, happens) {
			t.Errorf("%sof %s\nresult on the page: %s\nresult:             %s", try.text, try.object, try.gives, happens)
		}
	}
	if wrong == 0 || right == 0 {
		t.Errorf("%d wrong and %d right", wrong, right)
	}
}

// like compares texts, ignoring the amount of white space; … in the pattern matches any text.
func like(pattern, text string) bool {
	parts := strings.Split(strings.Join(strings.Fields(pattern), " "), "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(strings.Join(strings.Fields(text), " "))
}

// whatHappens returns the result of an example in the words of the page, and whether the example was valid and
// evaluated without an error.
func whatHappens(t *testing.T, c *engine.Compiler, try try) (happens string, understood bool) {
	t.Helper()
	o := recipeObject(t, try.object)
	var policies []*policy.Policy
	programs := map[string]*engine.Program{}
	for i, text := range strings.Split(try.text, "---\n") {
		data, err := policyOf(fmt.Sprintf("policy-%d", i), text, o)
		if err != nil {
			return err.Error(), false
		}
		document, err := policy.Parse(data)
		if err != nil {
			return err.Error(), false
		}
		p := document.Load(policy.DefaultProtection())
		for key, program := range c.Load(p) {
			programs[key] = program
		}
		if len(p.Problems) > 0 {
			return p.Problems[0].String(), false
		}
		policies = append(policies, p)
	}
	return outcomeOf(t, policies, programs, o)
}

// policyOf completes a part of a policy: a field that is not a field of spec belongs to a rule for the object's kind.
func policyOf(name, text string, o map[string]any) ([]byte, error) {
	var written map[string]any
	if err := yaml.Unmarshal([]byte(text), &written); err != nil {
		return nil, err
	}
	spec := map[string]any{"mode": "Enforce"}
	single := map[string]any{"name": "rule"}
	for field, value := range written {
		switch field {
		case "mode", "namespaceSelector", "excludeNamespaces", "variables", "rules":
			spec[field] = value
		default:
			single[field] = value
		}
	}
	rules, _ := spec["rules"].([]any)
	if len(rules) == 0 {
		rules = []any{single}
	}
	for _, r := range rules {
		complete(r.(map[string]any), o)
	}
	spec["rules"] = rules
	return json.Marshal(map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
}

// complete adds the fields of a rule that the page omits.
func complete(rule, o map[string]any) {
	standard := map[string]any{
		"target":    map[string]any{"apiVersion": o["apiVersion"], "kind": o["kind"]},
		"startTime": "object.metadata.creationTimestamp",
	}
	if rule["ttlExpression"] == nil {
		standard["ttl"] = "1h"
	}
	for field, value := range standard {
		if _, written := rule[field]; !written {
			rule[field] = value
		}
	}
}

// outcomeOf returns the decision on the object in the words of the page.
func outcomeOf(t *testing.T, policies []*policy.Policy, programs map[string]*engine.Program, o map[string]any) (string, bool) {
	t.Helper()
	subject, err := engine.SubjectOf(o)
	expect.NoError(t, err)
	known := map[string]policy.Namespace{subject.Namespace: {}}
	snapshot := policy.NewSnapshot(policies, known, policy.DefaultProtection())
	var evaluations []policy.Evaluation
	for _, p := range policies {
		for _, r := range snapshot.Effective(p.Rules[0].Kind.GroupKind(), subject.Namespace).Rules {
			if r.ID.Policy != p.Name {
				continue
			}
			facts := programs[r.Key].Facts(t.Context(), o)
			if facts.Err != nil {
				return "kept, EvaluationFailed: " + facts.Err.Error(), false
			}
			evaluations = append(evaluations, policy.Evaluation{Rule: r, Facts: facts, Known: true})
		}
	}
	later := subject.Created.Add(100 * policy.Week)
	v, _ := policy.Decide(subject, evaluations, later)
	switch {
	case v.Action == policy.Delete:
		return "deleted at " + v.Due.Format(time.RFC3339), true
	case v.Reason != policy.NotSelected:
		return "kept, " + string(v.Reason), true
	}
	if v = policy.Forecast(subject, evaluations, policies[0].Name, later); v.Action == policy.Delete {
		return "kept; counted as due at " + v.Due.Format(time.RFC3339), true
	}
	return "kept, " + string(v.Reason), true
}

// TestExtendingQuotesTheExamples: every line of Go in docs/contributing/extending.md is a line of the files that it quotes.
func TestExtendingQuotesTheExamples(t *testing.T) {
	known := map[string]bool{}
	for _, file := range []string{"example_test.go", "../controllers/retention/example_test.go", "../controllers/retention/interfaces.go"} {
		data, err := os.ReadFile(file)
		expect.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			known[strings.TrimSpace(line)] = true
		}
	}
	page, err := os.ReadFile("../docs/contributing/extending.md")
	expect.NoError(t, err)
	quotes := regexp.MustCompile("(?s)```[a-z]+\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(quotes) < 7 {
		t.Errorf("only %d quotes", len(quotes))
	}
	for _, quote := range quotes {
		for line := range strings.Lines(quote[1]) {
			if line = strings.TrimSpace(line); line != "" && !known[line] {
				t.Errorf("not a line of the quoted files: %s", line)
			}
		}
	}
}
