// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

// ranking returns a policy for Pods that count from their creation, with another setting of the rule.
func ranking(setting string) string {
	return `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: p}
spec:
  mode: Enforce
  rules:
  - {name: pods, target: {apiVersion: v1, kind: Pod}, eligible: "true", startTime: object.metadata.creationTimestamp, ` + setting + `}
`
}

// aged returns a Pod with an age in hours.
func aged(namespace, name string, hours int, label string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: %s, name: %s, creationTimestamp: %q, labels: {app: %s}}\n",
		namespace, name, at.Add(-time.Duration(hours)*time.Hour).Format("2006-01-02T15:04:05Z"), label)
}

func TestRanks(t *testing.T) {
	const (
		keepOne  = "ttl: 1h, keepNewest: {count: 1}"
		keepEach = `ttl: 1h, keepNewest: {count: 1, groupBy: "object.metadata.labels['app']"}`
		atMost   = "capacity: {max: 2}"
		fair     = "capacity: {max: 3, share: Fair}"
		byQuota  = "capacity: {percentOfQuota: 50}"
	)
	objects := aged("a", "old", 9, "x") + aged("a", "mid", 6, "z") + aged("a", "new", 3, "x") + aged("b", "only", 8, "x")
	quota := func(namespace, more string) string {
		return "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {namespace: " + namespace + ", name: q}\nspec: {hard: {count/pods: 4}" + more + "}\n"
	}
	tests := map[string]struct {
		setting, more string
		change        func(*preview.Input)
		want          []string // NAMESPACE/NAME REASON
	}{
		"the newest of each namespace": {keepOne, "", nil, []string{"a/mid Expired", "a/new KeptNewest", "a/old Expired", "b/only KeptNewest"}},
		"of equal ages without UIDs, the first by name": {keepOne, aged("a", "next", 3, "x"), nil, []string{
			"a/mid Expired", "a/new KeptNewest", "a/next Expired", "a/old Expired", "b/only KeptNewest"}},
		"the newest of each group":             {keepEach, "", nil, []string{"a/mid KeptNewest", "a/new KeptNewest", "a/old Expired", "b/only KeptNewest"}},
		"the capacity of each namespace":       {atMost, "", nil, []string{"a/mid WithinCapacity", "a/new WithinCapacity", "a/old OverCapacity", "b/only WithinCapacity"}},
		"a capacity that all namespaces share": {fair, "", nil, []string{"a/mid WithinCapacity", "a/new WithinCapacity", "a/old OverCapacity", "b/only WithinCapacity"}},
		"a part of the quota": {byQuota, quota("a", ""), nil,
			[]string{"a/mid WithinCapacity", "a/new WithinCapacity", "a/old OverCapacity", "b/only WithinCapacity"}},
		"the lower of two quotas": {byQuota, quota("a", "") + strings.Replace(quota("a", ""), "count/pods: 4", "pods: 2", 1), nil,
			[]string{"a/mid OverCapacity", "a/new WithinCapacity", "a/old OverCapacity", "b/only WithinCapacity"}},
		"a quota with scopes is ignored": {byQuota, quota("a", ", scopes: [BestEffort]"), nil,
			[]string{"a/mid WithinCapacity", "a/new WithinCapacity", "a/old WithinCapacity", "b/only WithinCapacity"}},
		"all count, but only some labels are shown": {keepOne, "", selecting("app=z"), []string{"a/mid Expired"}},
		"all count, but only one namespace is shown": {fair, "", func(in *preview.Input) { in.Namespace = "a" },
			[]string{"a/mid WithinCapacity", "a/new WithinCapacity", "a/old OverCapacity"}},
		"no object can be evaluated": {
			strings.Replace(keepEach, "metadata.labels['app']", "metadata.labels['app'] + object.metadata.labels['z']", 1), "", nil,
			[]string{"a/mid EvaluationFailed", "a/new EvaluationFailed", "a/old EvaluationFailed", "b/only EvaluationFailed"},
		},
		"an object that cannot be evaluated does not keep others": {
			strings.Replace(keepOne, "ttl: 1h", "ttlExpression: \"duration(object.metadata.name == 'new' ? object.metadata.name : '1h')\"", 1), "", nil,
			[]string{"a/mid KeptNewest", "a/new EvaluationFailed", "a/old Expired", "b/only KeptNewest"},
		},
		"an override keeps more": {keepOne, team("keepNewest: {count: 2}"), nil, []string{"a/mid KeptNewest", "a/new KeptNewest", "a/old Expired", "b/only KeptNewest"}},
		"an override keeps some objects of a rule without ranking": {"ttl: 1h", team("keepNewest: {count: 1}"), nil,
			[]string{"a/mid Expired", "a/new KeptNewest", "a/old Expired", "b/only Expired"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, row := range judge(t, ranking(tc.setting)+objects+tc.more, tc.change).Rows {
				got = append(got, row.Namespace+"/"+row.Name+" "+string(row.Verdict.Reason))
			}
			expect.Equal(t, "verdicts", tc.want, got)
		})
	}
}

func selecting(text string) func(*preview.Input) {
	return func(in *preview.Input) {
		selector, err := labels.Parse(text)
		if err != nil {
			panic(err)
		}
		in.Selector = selector
	}
}

// team returns a RetentionPolicy of namespace a that overrides the rule.
func team(override string) string {
	return "---\napiVersion: sunset-k8s.io/v1alpha1\nkind: RetentionPolicy\nmetadata: {namespace: a, name: team}\nspec:\n  mode: Enforce\n  overrides: [{policy: p, " + override + "}]\n"
}

func TestTeams(t *testing.T) {
	own := "---\napiVersion: sunset-k8s.io/v1alpha1\nkind: RetentionPolicy\nmetadata: {namespace: a, name: p}\n" + `spec:
  mode: Enforce
  serviceAccountName: cleaner
  rules:
  - {name: pods, target: {apiVersion: v1, kind: Pod}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 9d}
`
	objects := aged("a", "x", 3, "x") + aged("b", "z", 3, "x")
	due := func(hours int) string { return at.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339) }
	for name, tc := range map[string]struct {
		text string
		want []string // NAMESPACE/NAME RULE DUE
	}{
		"an override applies in its namespace":                   {ranking("ttl: 1d") + team("ttl: 2d"), []string{"a/x p/pods " + due(45), "b/z p/pods " + due(21)}},
		"a shorter override applies up to the minimum":           {ranking("ttl: 1d, overrideBounds: {minTTL: 8h}") + team("ttl: 1h"), []string{"a/x p/pods " + due(5), "b/z p/pods " + due(21)}},
		"rules of a RetentionPolicy apply only in its namespace": {ranking("ttl: 1d") + own, []string{"a/x a/p/pods " + due(213), "b/z p/pods " + due(21)}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, row := range judge(t, tc.text+objects, nil).Rows {
				got = append(got, row.Namespace+"/"+row.Name+" "+row.Verdict.Rule.String()+" "+row.Verdict.Due.Format(time.RFC3339))
			}
			expect.Equal(t, "verdicts", tc.want, got)
		})
	}
}

// TestMarks: an object without a mark starts at Input.At, and only a mark of the same rule counts.
func TestMarks(t *testing.T) {
	marking := strings.NewReplacer("{name: p}", "{name: p, uid: u-1}", "startTime: object.metadata.creationTimestamp, ", "").Replace(ranking("ttl: 4h"))
	compiler := fixture.Compiler(t)
	in, err := load.Read(opened(t, marking), load.NewLoader(compiler, policy.DefaultProtection()))
	expect.NoError(t, err)
	mark := in.Policies[0].Rules[0].Mark
	marked := func(name, mark string) string {
		since := fmt.Sprintf(`annotations: {sunset-k8s.io/eligible-since: '{"%s": "2026-03-01T10:00:00Z"}'}, labels`, mark)
		return strings.Replace(aged("a", name, 9, "x"), "labels", since, 1)
	}
	got := map[string]string{}
	for _, row := range judge(t, marking+aged("a", "unmarked", 9, "x")+marked("marked", mark)+marked("of-another-rule", "0123"), nil).Rows {
		got[row.Name] = row.Verdict.Action.String() + " " + row.Verdict.Due.Format(time.RFC3339)
	}
	want := map[string]string{
		"unmarked": "Wait 2026-03-01T16:00:00Z", "marked": "Wait 2026-03-01T14:00:00Z", "of-another-rule": "Wait 2026-03-01T16:00:00Z",
	}
	expect.Equal(t, "verdicts", want, got)
}
