// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var afternoon = time.Date(2026, 3, 1, 15, 10, 0, 0, time.UTC)

// explained returns the page of an object, with some policies, for an object in namespace team-a or kube-system.
func explained(t testing.TB, policies, object string, change func(*explain.Input)) *explain.Page {
	t.Helper()
	loader := load.NewLoader(fixture.Compiler(t), policy.DefaultProtection())
	var all []*policy.Policy
	for _, text := range strings.Split(policies, "\n---\n") {
		all = append(all, loader.Load(fixture.Decode(t, text)))
	}
	in := explain.Input{At: afternoon, Object: fixture.Decode(t, object), Explanations: map[policy.RuleID][]engine.Explanation{}}
	subject, err := engine.SubjectOf(in.Object)
	expect.NoError(t, err)
	in.Namespace = policy.NamespaceOf(map[string]string{"env": "dev"}, nil)
	snapshot := policy.NewSnapshot(all, map[string]policy.Namespace{subject.Namespace: in.Namespace}, loader.Protection)
	for _, kind := range snapshot.Kinds() {
		page := snapshot.Effective(kind, subject.Namespace)
		in.Subject = page.WithHold(subject)
		of := &preview.Case{Kind: kind, Namespace: in.Namespace, Subject: subject}
		in.Others = explain.OthersOf(in.Object, of, preview.Input{Policies: all, Protection: loader.Protection})
		for _, r := range page.Rules {
			program := loader.Programs[r.Key]
			in.Evaluations = append(in.Evaluations, policy.Evaluation{Rule: r, Facts: program.Facts(t.Context(), in.Object), Known: true})
			in.Explanations[r.ID] = program.Explain(t.Context(), engine.Surroundings{}, in.Object)
		}
	}
	if change != nil {
		change(&in)
	}
	if in.Verdict == (policy.Verdict{}) {
		in.Verdict, _ = policy.Decide(in.Subject, in.Evaluations, in.At)
	}
	return explain.New(in)
}

const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: report, namespace: team-a, uid: u1, creationTimestamp: "2026-03-01T12:00:00Z", labels: {app: web}}
spec: {completions: 1}
status:
  succeeded: 1
  completionTime: "2026-03-01T12:10:00Z"
  conditions:
  - {type: Complete, status: "True", lastTransitionTime: "2026-03-01T12:10:00Z"}
`

// batch is a policy with a rule for finished Jobs.
const batch = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: batch}
spec:
  mode: Enforce
  variables:
  - {name: done, expression: finished(object)}
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job}
    eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') != 'yes'
    startTime: finishedAt(object)
    ttl: 1d
    overrideBounds: {minTTL: 10m, maxTTL: 30d, ttlAnnotation: WithinBounds}
    keepNewest: {count: 2, groupBy: "object.metadata.?labels[?'app'].orValue('')"}
`

// always is a policy with two rules for all Jobs.
const always = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: always}
spec:
  mode: Enforce
  rules:
  - {name: a, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
  - {name: b, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
`

// TestAge: with --at, an object may not exist yet.
func TestAge(t *testing.T) {
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for says, at := range map[string]time.Time{
		"Job team-a/report, 3h10m old\n":                              afternoon,
		"Job team-a/report, 0s old\n":                                 created,
		"Job team-a/report, created later, at 2026-03-01T12:00:00Z\n": created.Add(-time.Second),
	} {
		var text strings.Builder
		expect.NoError(t, explained(t, batch, job, func(in *explain.Input) { in.At = at }).WriteText(&text))
		if !strings.HasPrefix(text.String(), says) {
			t.Errorf("at %s, the text does not begin with %q:\n%s", at, says, text.String())
		}
	}
}

const teamA = `
---
apiVersion: sunset-k8s.io/v1alpha1
kind: RetentionPolicy
metadata: {name: defaults, namespace: team-a}
spec:
  mode: Enforce
  overrides:
  - {policy: batch, rule: jobs, ttl: 4h}
`

const unrelated = `
---
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: prod}
spec:
  namespaceSelector: {matchLabels: {env: prod}}
  rules:
  - {name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
---
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: web}
spec:
  rules:
  - {name: jobs, target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {team: web}}}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
`

// ranked puts the Job in third place of seven, of which keep stay.
func ranked(keep int) func(*explain.Input) {
	return func(in *explain.Input) {
		in.Evaluations[0].Rank.Newest = keep >= 3
		in.Ranks = map[policy.RuleID]explain.Rank{{Policy: "batch", Rule: "jobs"}: {Group: "web", Place: 3, Of: 7, Keep: keep}}
	}
}

func with(text string, oldnew ...string) string { return strings.NewReplacer(oldnew...).Replace(text) }

func TestExplanation(t *testing.T) {
	tests := map[string]struct {
		policies, object string
		change           func(*explain.Input)
	}{
		"deleted later":                 {batch + teamA + unrelated, job, ranked(2)},
		"deleted now":                   {batch, with(job, `"2026-03-01T12:10:00Z"`, `"2026-02-28T12:10:00Z"`, "2026-03-01T12:00:00Z", "2026-02-28T12:00:00Z"), nil},
		"held and a condition is false": {batch, with(job, "labels: {app: web}", "labels: {keep: 'yes'}, annotations: {sunset-k8s.io/hold: ''}, finalizers: [example.com/audit]"), nil},
		"among the newest":              {batch, job, ranked(4)},
		"an expression fails":           {with(batch, "variables.done", "object.status.failed > object.spec.completions && variables.done"), job, nil},
		"its own TTL is clamped":        {batch + teamA, with(job, "labels: {app: web}", "annotations: {sunset-k8s.io/ttl: 1m}"), nil},
		"a dry run": {with(batch, "mode: Enforce", "mode: DryRun"), job, func(in *explain.Input) {
			in.Verdict = policy.Forecast(in.Subject, in.Evaluations, "batch", in.At)
			in.Verdict.Action, in.Verdict.Reason = policy.Keep, policy.IsDryRun
		}},
		"suspended in the namespace":    {batch + with(teamA, "ttl: 4h", "suspend: true"), job, nil},
		"the policy waits for approval": {batch, with(job, "2026-03-01", "2026-02-27"), func(in *explain.Input) { in.Evaluations[0].Rule.Unapproved = true }},
		"over capacity": {with(batch, "keepNewest: {count: 2, groupBy: \"object.metadata.?labels[?'app'].orValue('')\"}", "capacity: {max: 5000}"), job, func(in *explain.Input) {
			in.Evaluations[0].Rank.Excess = true
			in.Ranks = map[policy.RuleID]explain.Rank{{Policy: "batch", Rule: "jobs"}: {Capacity: &explain.Capacity{Count: 5012, Max: 5000}}}
		}},
		"an invalid rule": {with(batch, "finishedAt(object)", "finishedat(object)"), job, nil},
		"being deleted":   {batch, with(job, "labels: {app: web}", `deletionTimestamp: "2026-03-01T15:00:00Z", finalizers: [foregroundDeletion]`), nil},
		"in a held namespace": {batch, job, func(in *explain.Input) {
			in.Namespace.Held = true
			in.Subject.Flags |= policy.IsHeld
		}},
		"two rules keep an object that another controller manages": {always, with(job, "labels: {app: web}", `annotations: {helm.sh/hook: pre-install}`), nil},
		"no rule selects it":       {batch + unrelated, with(job, "team-a", "kube-system"), nil},
		"no rule targets its kind": {batch, with(job, "kind: Job", "kind: CronJob"), func(in *explain.Input) { in.Evaluations, in.Others = nil, nil }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			expect.NoError(t, explained(t, tc.policies, tc.object, tc.change).WriteText(&b))
			expect.Golden(t, filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".txt"), b.String(), *update)
			for line := range strings.Lines(b.String()) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("more than 80 columns: %s", line)
				}
			}
		})
	}
}

func TestExplanationForPrograms(t *testing.T) {
	short := with(batch, "variables.done && object.metadata.?labels[?'keep'].orValue('') != 'yes'", "variables.done && object.a == 1 && object.b == 2",
		"keepNewest: {count: 2, groupBy: \"object.metadata.?labels[?'app'].orValue('')\"}", "capacity: {max: 5000}")
	page := explained(t, short+unrelated, with(job, "labels: {app: web}", "annotations: {sunset-k8s.io/hold: ''}"), func(in *explain.Input) {
		in.Ranks = map[policy.RuleID]explain.Rank{{Policy: "batch", Rule: "jobs"}: {Capacity: &explain.Capacity{Count: 12, Max: 5000}}}
	})
	var asJSON strings.Builder
	e := json.NewEncoder(&asJSON)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	expect.NoError(t, e.Encode(page))
	expect.Golden(t, "testdata/for-programs.json", asJSON.String(), *update)
}
