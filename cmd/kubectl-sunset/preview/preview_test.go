// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

var at = fixture.Now

// judge evaluates the objects of a text with the policies of the same text.
func judge(t testing.TB, text string, change func(*preview.Input)) *preview.Result {
	t.Helper()
	compiler := fixture.Compiler(t)
	loader := load.NewLoader(compiler, policy.DefaultProtection())
	files := opened(t, text)
	in, err := load.Skim(files, loader)
	expect.NoError(t, err)
	input := preview.Input{
		Compiler: compiler, Policies: in.Rules(), Programs: loader.Programs,
		Namespaces: in.Namespaces, Protection: loader.Protection, At: at,
	}
	if change != nil {
		change(&input)
	}
	result, err := preview.New(input).Run(t.Context(), files.Feed())
	expect.NoError(t, err)
	return result
}

const policies = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: dev}
spec:
  mode: Enforce
  namespaceSelector: {matchLabels: {env: dev}}
  rules:
  - {name: pods, target: {apiVersion: v1, kind: Pod}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 1h}
---
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: named}
spec:
  mode: Enforce
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: plain}}
  rules:
  - {name: pods, target: {apiVersion: v1, kind: Pod}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 8d}
`

const namespaces = `
---
apiVersion: v1
kind: Namespace
metadata: {name: dev-a, labels: {env: dev}}
`

func pod(namespace, name, more string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata:\n  namespace: " + namespace + "\n  name: " + name +
		"\n  creationTimestamp: 2026-03-01T00:00:00Z\n" + more
}

// rows formats each row as one line.
func rows(r *preview.Result) []string {
	var lines []string
	for _, row := range r.Rows {
		v := row.Verdict
		lines = append(lines, strings.Join([]string{row.APIVersion, row.Kind, row.Namespace + "/" + row.Name, v.Action.String(), string(v.Reason), v.Rule.String()}, " "))
	}
	return lines
}

func TestNamespacesOfFiles(t *testing.T) {
	got := judge(t, policies+pod("plain", "b", "")+pod("dev-a", "a", "")+pod("other", "c", "")+pod("kube-system", "d", "")+namespaces, nil)
	want := []string{"v1 Pod dev-a/a Delete Expired dev/pods", "v1 Pod plain/b Wait Waiting named/pods"}
	expect.Equal(t, "rows", want, rows(got))
}

func TestPreviewOmitsMirrorPodsAndOtherKinds(t *testing.T) {
	mirror := "  annotations: {kubernetes.io/config.mirror: x}\n"
	got := judge(t, policies+namespaces+pod("dev-a", "static", mirror)+"---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: dev-a}\n", nil)
	if len(got.Rows)+len(got.Failures) > 0 {
		t.Errorf("rows %v, failures %v", got.Rows, got.Failures)
	}
}

func TestFailuresAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   preview.Failure
	}{
		"another version": {
			strings.Replace(pod("dev-a", "a", ""), "apiVersion: v1", "apiVersion: v2", 1),
			preview.Failure{Namespace: "dev-a", Name: "a", Message: "not evaluated: the object is at version v2, but the rules read Pod at v1; get it at that version"},
		},
		"an invalid creation time": {
			strings.Replace(pod("dev-a", "a", ""), "2026-03-01T00:00:00Z", "yesterday", 1),
			preview.Failure{Namespace: "dev-a", Name: "a", Message: `metadata.creationTimestamp: "yesterday" is not a time in RFC 3339, such as 2026-03-01T12:00:00Z`},
		},
		"no name": {
			strings.Replace(pod("dev-a", "a", ""), "name: a", "generateName: a-", 1),
			preview.Failure{Namespace: "dev-a", Message: "the object has no metadata.name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.RuleID = policy.RuleID{Policy: "dev", Rule: "pods"}
			got := judge(t, policies+namespaces+test.object, nil)
			if diff := cmp.Diff([]preview.Failure{test.want}, got.Failures); diff != "" || len(got.Rows) > 0 {
				t.Error(diff, got.Rows)
			}
		})
	}
}

func TestCountsCountEachSubjectOnce(t *testing.T) {
	text := policies + namespaces + pod("dev-a", "due", "") + pod("dev-a", "held", "  annotations: {sunset-k8s.io/hold: \"\"}\n") + pod("plain", "week", "")
	got := judge(t, text, nil).Counts
	one := preview.Total{Subjects: 1}
	want := []preview.RuleCounts{
		{Rule: policy.RuleID{Policy: "dev", Rule: "pods"}, Matched: 2, Now: one, Hour: one, Day: one, Week: one, Kept: one},
		{Rule: policy.RuleID{Policy: "named", Rule: "pods"}, Matched: 1, Later: one},
	}
	expect.Equal(t, "counts", want, got)
}

func TestSameAnswerHoweverManyProcessors(t *testing.T) {
	var text bytes.Buffer
	text.WriteString(policies + namespaces)
	for _, name := range strings.Fields("q w e r t z u i o p a s d f g h j k l y x c v b n m") {
		text.WriteString(pod("dev-a", name, ""))
	}
	first := rows(judge(t, text.String(), nil))
	for range 5 {
		if diff := cmp.Diff(first, rows(judge(t, text.String(), nil))); diff != "" {
			t.Fatal(diff)
		}
	}
}
