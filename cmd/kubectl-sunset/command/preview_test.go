// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
)

func TestPreviewForPeople(t *testing.T) {
	golden(t, "preview-table", run(t, "", "preview", "-f", samples+"/finished-jobs", "-f", samples+"/finished-pods"))
	golden(t, "preview-findings", run(t, "", "preview", "-f", samples+"/combining/keep-beats-due"))
}

func TestPreviewForPrograms(t *testing.T) {
	golden(t, "preview-json", run(t, "", "preview", "-f", samples+"/combining/evaluation-failed", "-o", "json"))
	golden(t, "preview-yaml", run(t, "", "preview", "-f", samples+"/combining/evaluation-failed", "-o", "yaml"))
}

func TestPreviewSaysTheSameInJSONAndYAML(t *testing.T) {
	for _, sample := range []string{"/events", "/combining/held", "/ownerless-pods"} {
		args := []string{"preview", "-f", samples + sample, "-o"}
		sameInYAML(t, run(t, "", append(args, "json")...), run(t, "", append(args, "yaml")...))
	}
}

// TestPreviewAsAPage: also an error, which is on the page, ends the command with exit code 1.
func TestPreviewAsAPage(t *testing.T) {
	got := run(t, "", "preview", "-f", samples+"/combining/evaluation-failed", "-o", "html")
	wants(t, got, command.ExitFindings, "<!doctype html>", "<h2>By namespace</h2>", "<h2>Errors: 1</h2>", "<td>EvaluationFailed: ", "</script>\n")
	if strings.Contains(got.out, "NAMESPACE") {
		t.Errorf("the page contains a table of text:\n%s", got.out)
	}
	wants(t, run(t, "", "preview", "-f", samples+"/windows", "-o", "html"), command.ExitOK, "<td>Deferred: windows of policy finished-jobs-at-night are closed: ")
}

const pods = `
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: one, labels: {team: data}, creationTimestamp: "2026-02-28T12:00:00Z"}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: two, creationTimestamp: "2026-02-28T12:00:00Z"}
`

const podPolicy = `
apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: pods}
spec:
  rules:
  - {name: pods, target: {apiVersion: v1, kind: Pod}, eligible: "true", startTime: object.metadata.creationTimestamp, ttl: 2d}
`

func TestPreview(t *testing.T) {
	for name, test := range map[string]struct {
		stdin string
		args  []string
		code  int
		wants []string
		lacks string
	}{
		"the policy after the objects":       {stdin: pods + "---" + podPolicy, wants: []string{"one         Pod    a      Wait", "two         Pod    b      Wait"}},
		"a time given":                       {stdin: podPolicy + pods, args: []string{"--at", "2026-03-02T12:00:00Z"}, wants: []string{"Delete   Expired   now (2026-03-02T12:00:00Z)"}},
		"a span from now":                    {stdin: podPolicy + pods, args: []string{"--at", "+2d"}, wants: []string{"Delete   Expired   24h ago (2026-03-02T12:00:00Z)"}},
		"an offset in the time given":        {stdin: podPolicy + pods, args: []string{"--at", "2026-03-02T13:00:00+01:00"}, wants: []string{"Due at 2026-03-02T12:00:00Z"}},
		"one namespace":                      {stdin: podPolicy + pods, args: []string{"-n", "two"}, wants: []string{"Pod    b"}, lacks: "Pod    a"},
		"a namespace and all namespaces":     {stdin: podPolicy + pods, args: []string{"-n", "two", "-A"}, wants: []string{"Pod    a", "Pod    b"}},
		"a selector":                         {stdin: podPolicy + pods, args: []string{"-l", "team=data"}, wants: []string{"Pod    a"}, lacks: "Pod    b"},
		"a suspended policy stays suspended": {stdin: strings.Replace(podPolicy, "spec:", "spec:\n  mode: Suspend", 1) + pods, wants: []string{"Keep     Suspended"}},
		"no selected object":                 {stdin: strings.Replace(podPolicy, "kind: Pod}", "kind: Secret}", 1) + pods, wants: []string{"No rule selects any object.", "pods/pods          0"}},
		"an object at another version": {
			stdin: podPolicy + strings.Replace(pods, "apiVersion: v1\n", "apiVersion: v2\n", 1), wants: []string{"Pod    b", "one/a"},
			// v2 of the core group is a version of the same kind.
			code: command.ExitFindings,
		},
		"an invalid policy keeps objects, with a problem": {
			stdin: strings.Replace(podPolicy, `"true"`, `"object.spec.x =="`, 1) + pods, code: command.ExitFindings,
			wants: []string{"Keep     RuleInvalid", "stdin:7: pods: spec.rules[0].eligible"},
		},
		"a missing field": {
			stdin: strings.Replace(podPolicy, `"true"`, `object.spec.done`, 1) + pods, code: command.ExitFindings,
			wants: []string{"Keep     EvaluationFailed", "2 errors:", "one/a: pods/pods: eligible: no such key: spec", ".?"},
		},
		"objects alone":                    {stdin: pods, code: command.ExitError, wants: []string{"objects and no policy"}},
		"neither policy nor object":        {stdin: "# nothing\n", code: command.ExitError, wants: []string{"the files contain no policy and no other object"}},
		"a document that cannot be parsed": {stdin: podPolicy + pods + "---\napiVersion: v1\nkind: [\n", code: command.ExitError, wants: []string{"error: stdin:"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, test.stdin, append([]string{"preview", "-f", "-"}, test.args...)...)
			wants(t, got, test.code, test.wants...)
			if test.lacks != "" && strings.Contains(got.out, test.lacks) {
				t.Errorf("%q is in the output:\n%s", test.lacks, got.out)
			}
		})
	}
}

// TestPreviewTellsOfObjectsThatNoClusterHas: notes count objects without the namespace that their kind needs, and copies.
func TestPreviewTellsOfObjectsThatNoClusterHas(t *testing.T) {
	const (
		definition = "\n---\n" + `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},
			"spec":{"group":"example.com","names":{"kind":"Gadget","plural":"gadgets"},"scope":"Namespaced","versions":[]}}`
		job    = "\n---\n" + `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z"%s}}`
		gadget = "\n---\n" + `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","creationTimestamp":"2026-01-01T00:00:00Z"}}`
		placed = `,"namespace":"dev"`
	)
	jobs := livePolicy("p", "Enforce", "Job", "1h")
	gadgets := strings.Replace(livePolicy("gadgets", "Enforce", "Gadget", "1h"), `"apiVersion":"v1"`, `"apiVersion":"example.com/v1"`, 1)
	files := jobs + "\n---\n" + gadgets + fmt.Sprintf(job, "") + fmt.Sprintf(job, placed) + gadget
	for text, told := range map[string]string{files + definition: "2 objects", files: "1 object"} { // the scope of an unknown kind is unknown
		wants(t, run(t, text, "preview", "-f", "-"), command.ExitOK, "note: the files have "+told+" without metadata.namespace of kinds that need it;")
	}
	got := run(t, strings.Replace(jobs, `{"matchLabels":{"env":"dev"}}`, "{}", 1)+fmt.Sprintf(job, placed)+fmt.Sprintf(job, placed), "preview", "-f", "-")
	wants(t, got, command.ExitOK, "note: the files have 1 object of the same name and kind as another;")
	if strings.Contains(got.err, "without metadata.namespace") {
		t.Error(got.err)
	}
}
