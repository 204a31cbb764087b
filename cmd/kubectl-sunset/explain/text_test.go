package explain_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/explain"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

var afternoon = time.Date(2026, 3, 1, 15, 10, 0, 0, time.UTC)

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// explained returns the page of an object, with some policies, for an object in namespace team-a or kube-system.
func explained(t testing.TB, policies, object string, change func(*explain.Input)) *explain.Page {
	t.Helper()
	compiler, err := engine.NewCompiler(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	loader := load.NewLoader(compiler, policy.DefaultProtection())
	var all []*policy.Policy
	for _, text := range strings.Split(policies, "\n---\n") {
		all = append(all, loader.Load(decode(t, text)))
	}
	in := explain.Input{At: afternoon, Object: decode(t, object), Explanations: map[policy.RuleID][]engine.Explanation{}}
	subject, err := engine.SubjectOf(in.Object)
	if err != nil {
		t.Fatal(err)
	}
	in.Namespace = policy.NamespaceOf(map[string]string{"env": "dev"}, nil)
	snapshot := policy.NewSnapshot(all, map[string]policy.Namespace{subject.Namespace: in.Namespace}, loader.Protection)
	for _, kind := range snapshot.Kinds() {
		page := snapshot.Effective(kind, subject.Namespace)
		in.Subject = page.WithHold(subject)
		in.Others = explain.OthersIn(subject.Namespace, in.Namespace, kind, all, loader.Protection)
		for _, r := range page.Rules {
			program := loader.Programs[r.Key]
			in.Evaluations = append(in.Evaluations, policy.Evaluation{Rule: r, Facts: program.Facts(t.Context(), in.Object), Known: true})
			in.Explanations[r.ID] = program.Explain(t.Context(), in.Object)
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
apiVersion: sunset.x-k8s.io/v1alpha1
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
    override: {ttl: {min: 10m, max: 30d}, annotation: true}
    keepNewest: {count: 2, groupBy: "object.metadata.?labels[?'app'].orValue('')"}
`

// always is a policy with two rules for all Jobs.
const always = `
apiVersion: sunset.x-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: always}
spec:
  mode: Enforce
  rules:
  - {name: a, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
  - {name: b, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
`

const teamA = `
---
apiVersion: sunset.x-k8s.io/v1alpha1
kind: RetentionPolicy
metadata: {name: defaults, namespace: team-a}
spec:
  mode: Enforce
  overrides:
  - {policy: batch, rule: jobs, ttl: 4h}
`

const unrelated = `
---
apiVersion: sunset.x-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: prod}
spec:
  namespaceSelector: {matchLabels: {env: prod}}
  rules:
  - {name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
---
apiVersion: sunset.x-k8s.io/v1alpha1
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
		want             string
	}{
		"deleted later": {batch + teamA + unrelated, job, ranked(2), `
Job team-a/report, 3h10m old
expires at 2026-03-01T16:10:00Z, in 60m, by rule batch/jobs

batch/jobs, mode Enforce
  says due at 2026-03-01T16:10:00Z, in 60m
  ttl 4h from RetentionPolicy team-a/defaults spec.overrides[0]; rule says 1d,
      allowed 10m..30d
  keepNewest 2 from the rule
  rank 3 of 7 in group "web"; the newest 2 stay
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Other rules for its kind:
  web/jobs: its selector is team=web (LabelsDiffer)
  prod/jobs: namespaceSelector is env=prod (NamespaceNotSelected)

Possible changes:
  - it expires by rule batch/jobs at 2026-03-01T16:10:00Z, in 60m
  - set annotation sunset.x-k8s.io/hold: "true" on the object: it would stay
`},
		"deleted now": {batch, with(job, `"2026-03-01T12:10:00Z"`, `"2026-02-28T12:10:00Z"`, "2026-03-01T12:00:00Z", "2026-02-28T12:00:00Z"), nil, `
Job team-a/report, 27h old
is deleted now: due since 2026-03-01T12:10:00Z, 3h ago, by rule batch/jobs

batch/jobs, mode Enforce
  says due at 2026-03-01T12:10:00Z, 3h ago
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-02-28T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Possible changes:
  - set annotation sunset.x-k8s.io/hold: "true" on the object: it would stay
`},
		"held, and a condition is false": {batch, with(job, "labels: {app: web}", "labels: {keep: 'yes'}, annotations: {sunset.x-k8s.io/hold: ''}, finalizers: [example.com/audit]"), nil, `
Job team-a/report, 3h10m old
stays: Held (annotation sunset.x-k8s.io/hold, or something needs it)

batch/jobs, mode Enforce
  says nothing: NotEligible (eligible is false)
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          false
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     false
      object.metadata.?labels[?'keep'].orValue('')   "yes"
  startTime: finishedAt(object)                      not needed
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     not needed

Blocked by:
  Held: annotation sunset.x-k8s.io/hold on the object
  Finalizers: after the DELETE request it stays until these finalizers are
      removed: example.com/audit

Possible changes:
  - remove annotation sunset.x-k8s.io/hold from the object, and eligible of rule
      batch/jobs becomes true; now false:
      object.metadata.?labels[?'keep'].orValue('') != 'yes'
`},
		"among the newest": {batch, job, ranked(4), `
Job team-a/report, 3h10m old
stays: KeptNewest (among the newest of its group), by rule batch/jobs

batch/jobs, mode Enforce
  says keep: KeptNewest (among the newest of its group)
  ttl 1d from the rule
  keepNewest 2 from the rule
  rank 3 of 7 in group "web"; the newest 4 stay
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Possible changes:
  - 2 newer objects of its group become eligible by rule batch/jobs: it would
      expire at 2026-03-02T12:10:00Z, in 21h
`},
		"an expression fails": {with(batch, "variables.done", "object.status.failed > object.spec.completions && variables.done"), job, nil, `
Job team-a/report, 3h10m old
stays: EvaluationFailed (an expression failed), by rule batch/jobs

batch/jobs, mode Enforce
  says keep: EvaluationFailed (an expression failed)
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: object.status.failed > object.spec.completions && variables.done &&
      object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     failed
    object.status.failed > object.spec.completions   failed
      object.status.failed
          error: no such key: failed; if the field can be absent, use .?field or
            has()
      object.spec.completions                        not needed
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      not needed
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     not needed

Possible changes:
  - fix rule batch/jobs, or the fields of the object that it reads; an
      expression fails
`},
		"its own TTL is clamped": {batch + teamA, with(job, "labels: {app: web}", "annotations: {sunset.x-k8s.io/ttl: 1m}"), nil, `
Job team-a/report, 3h10m old
is deleted now: due since 2026-03-01T12:20:00Z, 170m ago, by rule batch/jobs

batch/jobs, mode Enforce
  says due at 2026-03-01T12:20:00Z, 170m ago
  ttl 10m from annotation sunset.x-k8s.io/ttl; written as 1m, rule says 1d,
      allowed 10m..30d
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     ""

Possible changes:
  - set annotation sunset.x-k8s.io/hold: "true" on the object: it would stay
`},
		"a dry run": {with(batch, "mode: Enforce", "mode: DryRun"), job, func(in *explain.Input) {
			in.Verdict = policy.Forecast(in.Subject, in.Evaluations, "batch", in.At)
			in.Verdict.Action, in.Verdict.Reason = policy.Keep, policy.IsDryRun
		}, `
Job team-a/report, 3h10m old
stays: DryRun (would expire at 2026-03-02T12:10:00Z, in 21h), by rule batch/jobs

batch/jobs, mode DryRun
  says due at 2026-03-02T12:10:00Z, in 21h
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Blocked by:
  DryRun: policy batch is a dry run

Possible changes:
  - set mode: Enforce in policy batch: it would expire at 2026-03-02T12:10:00Z,
      in 21h
`},
		"suspended in the namespace": {batch + with(teamA, "ttl: 4h", "suspend: true"), job, nil, `
Job team-a/report, 3h10m old
stays: Suspended (the rule is suspended and finds it eligible), by rule
    batch/jobs

batch/jobs, mode Enforce
  says keep: Suspended (the rule is suspended and finds it eligible)
  ttl 1d from the rule
  keepNewest 2 from the rule
  suspend true from RetentionPolicy team-a/defaults spec.overrides[0]
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Blocked by:
  Suspended: RetentionPolicy team-a/defaults spec.overrides[0] sets suspend:
      true

Possible changes:
  - remove suspend: true from RetentionPolicy team-a/defaults spec.overrides[0]:
      it would expire at 2026-03-02T12:10:00Z, in 21h
`},
		"the policy waits for approval": {batch, with(job, "2026-03-01", "2026-02-27"), func(in *explain.Input) { in.Evaluations[0].Rule.Unapproved = true }, `
Job team-a/report, 2d3h old
stays: ApprovalRequired (the policy waits for approval), by rule batch/jobs

batch/jobs, mode Enforce
  says due at 2026-02-28T12:10:00Z, 27h ago
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-02-27T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Blocked by:
  ApprovalRequired: policy batch waits for approval

Possible changes:
  - kubectl sunset approve batch: it would be deleted now
`},
		"over capacity": {with(batch, "keepNewest: {count: 2, groupBy: \"object.metadata.?labels[?'app'].orValue('')\"}", "capacity: {max: 5000}"), job, func(in *explain.Input) {
			in.Evaluations[0].Rank.Excess = true
			in.Ranks = map[policy.RuleID]explain.Rank{{Policy: "batch", Rule: "jobs"}: {Capacity: &explain.Capacity{Count: 5012, Max: 5000}}}
		}, `
Job team-a/report, 3h10m old
is deleted now: the capacity of the rule is exceeded, by rule batch/jobs

batch/jobs, mode Enforce
  says due now: OverCapacity (the capacity of the rule is exceeded)
  ttl 1d from the rule
  capacity 5000 from the rule
  5012 eligible in the namespace; at most 5000 stay
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z

Possible changes:
  - set annotation sunset.x-k8s.io/hold: "true" on the object: it would stay
`},
		"an invalid rule": {with(batch, "finishedAt(object)", "finishedat(object)"), job, nil, `
Job team-a/report, 3h10m old
stays: RuleInvalid (the rule is invalid), by rule batch/jobs

batch/jobs, mode Enforce
  says keep: RuleInvalid (the rule is invalid)
  problem: spec.rules[0].startTime:1:1: unknown function finishedat() (did you
      mean finishedAt(object)?)
  ttl 1d from the rule
  keepNewest 2 from the rule

Possible changes:
  - fix rule batch/jobs (run: kubectl sunset validate)
`},
		"being deleted": {batch, with(job, "labels: {app: web}", `deletionTimestamp: "2026-03-01T15:00:00Z", finalizers: [foregroundDeletion]`), nil, `
Job team-a/report, 3h10m old
stays: Terminating (it is being deleted)

batch/jobs, mode Enforce
  says due at 2026-03-02T12:10:00Z, in 21h
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     ""

Blocked by:
  Terminating: it is being deleted; it stays until these finalizers are removed:
      foregroundDeletion
`},
		"in a held namespace": {batch, job, func(in *explain.Input) {
			in.Namespace.Held = true
			in.Subject.Flags |= policy.IsHeld
		}, `
Job team-a/report, 3h10m old
stays: Held (annotation sunset.x-k8s.io/hold, or something needs it)

batch/jobs, mode Enforce
  says due at 2026-03-02T12:10:00Z, in 21h
  ttl 1d from the rule
  keepNewest 2 from the rule
  eligible: variables.done && object.metadata.?labels[?'keep'].orValue('') !=
      'yes'                                          true
    variables.done                                   true
      finished(object)                               true
    object.metadata.?labels[?'keep'].orValue('') != 'yes'
                                                     true
      object.metadata.?labels[?'keep'].orValue('')   ""
  startTime: finishedAt(object)                      2026-03-01T12:10:00Z
  keepNewest.groupBy: object.metadata.?labels[?'app'].orValue('')
                                                     "web"

Blocked by:
  Held: annotation sunset.x-k8s.io/hold on namespace team-a

Possible changes:
  - remove annotation sunset.x-k8s.io/hold from namespace team-a: it would
      expire at 2026-03-02T12:10:00Z, in 21h
`},
		"two rules keep an object that another controller manages": {always, with(job, "labels: {app: web}", `annotations: {helm.sh/hook: pre-install}`), nil, `
Job team-a/report, 3h10m old
stays: ManagedByHelm (it is a Helm hook), by rule always/a

always/a, mode Enforce
  says keep: ManagedByHelm (it is a Helm hook)
  ttl 1h from the rule
  eligible: true                                 true
  startTime: object.metadata.creationTimestamp   2026-03-01T12:00:00Z

always/b, mode Enforce
  says keep: ManagedByHelm (it is a Helm hook)
  ttl 1h from the rule
  eligible: true                                 true
  startTime: object.metadata.creationTimestamp   2026-03-01T12:00:00Z

Blocked by:
  ManagedByHelm: it is a Helm hook (annotation helm.sh/hook)

Possible changes:
  - set delete.allowManaged: true in rule always/a, and set delete.allowManaged:
      true in rule always/b: it would be deleted now
`},
		"no rule selects it": {batch + unrelated, with(job, "team-a", "kube-system"), nil, `
Job kube-system/report, 3h10m old
stays: NotSelected (no enforced rule selects it)

No rule selects it, because:
  batch/jobs: namespace kube-system is protected from all policies
      (NamespaceProtected)
  prod/jobs: namespace kube-system is protected from all policies
      (NamespaceProtected)
  web/jobs: namespace kube-system is protected from all policies
      (NamespaceProtected)
`},
		"no rule targets its kind": {batch, with(job, "kind: Job", "kind: CronJob"), func(in *explain.Input) { in.Evaluations, in.Others = nil, nil }, `
CronJob team-a/report, 3h10m old
stays: NotSelected (no enforced rule selects it)

No rule selects it, because no rule targets its kind.
`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := explained(t, tc.policies, tc.object, tc.change).WriteText(&b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), b.String()); diff != "" {
				t.Error(diff)
			}
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
	page := explained(t, short+unrelated, with(job, "labels: {app: web}", "annotations: {sunset.x-k8s.io/hold: ''}"), func(in *explain.Input) {
		in.Ranks = map[policy.RuleID]explain.Rank{{Policy: "batch", Rule: "jobs"}: {Capacity: &explain.Capacity{Count: 12, Max: 5000}}}
	})
	var asJSON, asYAML strings.Builder
	if err := page.WriteJSON(&asJSON); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteYAML(&asYAML); err != nil {
		t.Fatal(err)
	}
	const want = `
{
  "at": "2026-03-01T15:10:00Z",
  "apiVersion": "batch/v1",
  "kind": "Job",
  "namespace": "team-a",
  "name": "report",
  "creationTimestamp": "2026-03-01T12:00:00Z",
  "verdict": {
    "action": "Keep",
    "reason": "Held",
    "policy": "batch",
    "rule": "jobs",
    "message": "stays: Held (annotation sunset.x-k8s.io/hold, or something needs it)"
  },
  "rules": [
    {
      "policy": "batch",
      "rule": "jobs",
      "mode": "Enforce",
      "says": "keep",
      "reason": "EvaluationFailed",
      "settings": [
        {
          "name": "ttl",
          "value": "1d",
          "from": "the rule"
        },
        {
          "name": "capacity",
          "value": "5000",
          "from": "the rule"
        }
      ],
      "rank": {
        "capacity": {
          "count": 12,
          "max": 5000
        }
      },
      "expressions": [
        {
          "field": "eligible",
          "text": "variables.done && object.a == 1 && object.b == 2",
          "error": "eligible: no such key: a; if the field can be absent, use .?field or has()",
          "parts": [
            {
              "text": "variables.done",
              "line": 1,
              "column": 1,
              "depth": 0,
              "value": "true"
            },
            {
              "text": "finished(object)",
              "variable": "done",
              "line": 1,
              "column": 1,
              "depth": 1,
              "value": "true"
            },
            {
              "text": "object.a == 1",
              "line": 1,
              "column": 19,
              "depth": 0,
              "error": "no such key: a; if the field can be absent, use .?field or has()"
            },
            {
              "text": "object.a",
              "line": 1,
              "column": 19,
              "depth": 1,
              "error": "no such key: a; if the field can be absent, use .?field or has()"
            },
            {
              "text": "object.b == 2",
              "line": 1,
              "column": 36,
              "depth": 0,
              "error": "no such key: b; if the field can be absent, use .?field or has()"
            },
            {
              "text": "object.b",
              "line": 1,
              "column": 36,
              "depth": 1,
              "error": "no such key: b; if the field can be absent, use .?field or has()"
            }
          ]
        },
        {
          "field": "startTime",
          "text": "finishedAt(object)",
          "skipped": true
        }
      ]
    }
  ],
  "otherRules": [
    {
      "policy": "web",
      "rule": "jobs",
      "mode": "DryRun",
      "why": "LabelsDiffer",
      "message": "its selector is team=web"
    },
    {
      "policy": "prod",
      "rule": "jobs",
      "mode": "DryRun",
      "why": "NamespaceNotSelected",
      "message": "namespaceSelector is env=prod"
    }
  ],
  "blocks": [
    {
      "reason": "Held",
      "message": "annotation sunset.x-k8s.io/hold on the object",
      "remedy": "remove annotation sunset.x-k8s.io/hold from the object"
    }
  ],
  "changes": [
    {
      "what": "remove annotation sunset.x-k8s.io/hold from the object, and fix rule batch/jobs, or the fields of the object that it reads; an expression fails"
    }
  ]
}
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), asJSON.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(decode(t, asJSON.String()), decode(t, asYAML.String())); diff != "" {
		t.Errorf("YAML and JSON differ:\n%s", diff)
	}
}
