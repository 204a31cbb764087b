// SPDX-License-Identifier: Apache-2.0

// Package monitoring_test checks the chart's dashboard and alerts against the metrics that the controller and the agent
// export.
package monitoring_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/inputs"
)

const files = "../../charts/sunset/files/"

// question is one PromQL expression, with the labels that its panel or alert uses from the result.
type question struct {
	from   string // the panel or alert with the expression
	text   string
	labels []string
}

// answer is what the program in prometheus/uses returns for an expression.
type answer struct {
	Error string
	Uses  []struct {
		Metric string
		Labels []string
	}
	Labels []string
	All    bool
}

func TestMetricsInQueriesAreExported(t *testing.T) {
	known := exported(t)
	asked := append(dashboard(t), alerts(t)...)
	if len(asked) < 40 {
		t.Fatalf("found only %d expressions", len(asked))
	}
	for i, a := range understood(t, asked) {
		q := asked[i]
		if a.Error != "" {
			t.Errorf("%s: %s: %s", q.from, q.text, a.Error)
		}
		for _, use := range a.Uses {
			labels, ok := known[use.Metric]
			if !ok {
				t.Errorf("%s: metric %s is not exported", q.from, use.Metric)
			}
			for _, l := range use.Labels {
				if ok && !slices.Contains(labels, l) {
					t.Errorf("%s: %s has no label %s, only %v", q.from, use.Metric, l, labels)
				}
			}
		}
		for _, l := range q.labels {
			if !a.All && !slices.Contains(a.Labels, l) {
				t.Errorf("%s: the result of %s has no label %s, only %v", q.from, q.text, l, a.Labels)
			}
		}
	}
}

// TestMistakeIsFound: the test above detects mistakes.
func TestMistakeIsFound(t *testing.T) {
	got := understood(t, []question{{text: `sum by (kind) (sunset_backlog{policy="p"}) > 0`}, {text: "sum("}})
	if use := got[0].Uses[0]; use.Metric != "sunset_backlog" || !slices.Equal(use.Labels, []string{"kind", "policy"}) || !slices.Equal(got[0].Labels, []string{"kind"}) {
		t.Errorf("the first expression was parsed as %+v", got[0])
	}
	if got[1].Error == "" {
		t.Errorf("the second expression was parsed as %+v", got[1])
	}
	if labels, ok := exported(t)["sunset_backlog"]; !ok || len(labels) != 0 {
		t.Errorf("sunset_backlog is exported with %v: %t", labels, ok)
	}
}

// understood parses expressions with Prometheus's own parser.
func understood(t *testing.T, asked []question) []answer {
	t.Helper()
	texts := []string{}
	for _, q := range asked {
		texts = append(texts, q.text)
	}
	in, err := json.Marshal(texts)
	expect.NoError(t, err)
	var answers []answer
	expect.NoError(t, json.Unmarshal(pinned(t, in, "run", "./uses"), &answers))
	if len(answers) != len(asked) {
		t.Fatalf("%d answers to %d questions", len(answers), len(asked))
	}
	return answers
}

// pinned runs go in the module that pins Prometheus, and returns its output.
func pinned(t *testing.T, in []byte, args ...string) []byte {
	t.Helper()
	expect.NoError(t, inputs.Files("prometheus", "testdata", files, "../../docs/reference/events-and-alerts.md"))
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "prometheus"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out.Bytes(), said.Bytes())
	}
	return out.Bytes()
}

// interval replaces variables like Grafana.
var interval = strings.NewReplacer("$__rate_interval", "5m", "$policy", ".*", "$namespace", ".*")

// dashboard returns the queries of the panels and of the variables.
func dashboard(t *testing.T) []question {
	t.Helper()
	type target struct{ Expr, LegendFormat string }
	var page struct {
		Panels []struct {
			Type, Title string
			Targets     []target
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	read(t, "dashboard.json", &page)
	var asked []question
	for _, p := range page.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		for _, of := range p.Targets {
			asked = append(asked, question{"panel " + p.Title, interval.Replace(of.Expr), named(legend, of.LegendFormat)})
		}
	}
	values := regexp.MustCompile(`^label_values\((\w+(?:\{.*\})?), (\w+)\)$`)
	for _, v := range page.Templating.List {
		if v.Type != "query" {
			continue
		}
		of := values.FindStringSubmatch(interval.Replace(v.Definition))
		if of == nil {
			t.Fatalf("variable %s asks %q", v.Name, v.Definition)
		}
		asked = append(asked, question{from: "variable " + v.Name, text: "sum by (" + of[2] + ") (" + of[1] + ")"})
	}
	return asked
}

var (
	legend   = regexp.MustCompile(`{{(\w+)}}`)
	template = regexp.MustCompile(`\$labels\.(\w+)`)
)

// named returns the labels that a text uses.
func named(by *regexp.Regexp, text string) []string {
	var names []string
	for _, match := range by.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// rule is an alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	read(t, "alerts.yaml", &file)
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func alerts(t *testing.T) []question {
	t.Helper()
	var asked []question
	for _, r := range rules(t) {
		asked = append(asked, question{"alert " + r.Alert, r.Expr, named(template, r.Annotations["summary"]+r.Annotations["description"])})
	}
	return asked
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(files + name)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
