// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestValidateSaysEverythingAtOnce(t *testing.T) {
	golden(t, "validate", run(t, "", "validate", "-f", "testdata/invalid.yaml"))
}

func TestValidateForPrograms(t *testing.T) {
	got := run(t, "", "validate", "-f", "testdata/invalid.yaml", "-o", "json")
	var v struct {
		Files, Policies, Skipped int
		Problems                 []struct {
			File, Policy, Path, Message, Hint, Expression string
			Document, Line, Column                        int
		}
	}
	expect.NoError(t, json.Unmarshal([]byte(got.out), &v))
	if got.code != command.ExitFindings || v.Files != 1 || v.Policies != 2 || v.Skipped != 1 || len(v.Problems) != 6 {
		t.Errorf("exit %d, %+v", got.code, v)
	}
	if p := v.Problems[1]; p.File != "testdata/invalid.yaml" || p.Document != 2 || p.Policy != "clock" || p.Line != 2 || p.Column != 3 {
		t.Errorf("%+v", p)
	}
}

const fine = `apiVersion: sunset-k8s.io/v1alpha1
kind: ClusterRetentionPolicy
metadata: {name: fine}
spec:
  rules:
  - {name: jobs, target: {apiVersion: batch/v1, kind: Job}, eligible: finished(object), startTime: finishedAt(object), ttl: 1d}
`

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		stdin string
		args  []string
		code  int
		wants []string
	}{
		"samples without mistakes": {
			args:  []string{"-f", samples + "/finished-jobs", "-f", samples + "/events", samples + "/custom-resource"},
			wants: []string{"3 policies in 9 files: no problems; 23 other objects skipped"},
		},
		"standard input": {stdin: fine, args: []string{"-f", "-"}, wants: []string{"1 policy in 1 file: no problems\n"}},
		"only other objects": {
			stdin: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"stdin: no policy and no CustomResourceDefinition\n    hint: check that apiVersion is sunset-k8s.io/v1alpha1", "0 policies in 1 file: 1 problem; 1 other object skipped"},
		},
		"references": {
			stdin: fine + "  references:\n  - from: {apiVersion: cert-manager.io/v1, kind: Certificate}\n    to: Secret\n    names: |-\n      [\n        objekt.spec.secretName]\n    as: x\n",
			args:  []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"fine: spec.references[0].names:2:3: unknown name \"objekt\"\n", "hint: did you mean object?",
				"fine: spec.references[0].as: unknown field",
				"      ^\n", "2 problems"},
		},
		"a list of policies": {
			stdin: "kind: List\napiVersion: v1\nitems:\n- apiVersion: sunset-k8s.io/v1alpha1\n  kind: ClusterRetentionPolicy\n  metadata: {name: a}\n  spec: {}\n",
			args:  []string{"-f", "-"}, code: command.ExitFindings, wants: []string{"stdin:7: a: spec.rules: "},
		},
		"with an approval, and a status of another version": {
			stdin: fine + "status: {observedGeneration: x}\n---\n{apiVersion: sunset-k8s.io/v1alpha1, kind: ClusterRetentionApproval, metadata: {name: fine}}\n", args: []string{"-f", "-"},
			wants: []string{"1 policy in 1 file: no problems; 1 other object skipped"},
		},
		"the same name twice": {
			stdin: fine + "---\n" + fine, args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"stdin:10: fine: metadata.name: the policy in stdin: document 1 has the same name"},
		},
		"more than the API server accepts": {
			stdin: fine + "  windows: [" + strings.Repeat("{schedule: '@daily', duration: 1h}, ", 17) + "]\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"stdin:7: fine: spec.windows: must have at most 16 items\n    hint: the API server would refuse the object"},
		},
		"a field that the API server requires": {
			stdin: fine + "  limits: {window: 1h}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"fine: spec.limits.maxDeletions: Required value"},
		},
		"an expression without text": {
			stdin: strings.Replace(fine, "startTime: finishedAt(object)", `startTime: ""`, 1), args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"fine: spec.rules[0].startTime: should be at least 1 chars long"},
		},
		"limits": {stdin: fine + "  limits: {maxDeletions: 100, window: 1d}\n", args: []string{"-f", "-"}, wants: []string{"no problems"}},
		"invalid limits": {
			stdin: fine + "  limits: {maxDeletions: -1, window: hourly}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{`fine: spec.limits.maxDeletions: -1 is negative`, "hint: write 0 to delete nothing, or leave limits out for no limit",
				`fine: spec.limits.window: "hourly" is not a duration`, "hint: write the period in which maxDeletions counts"},
		},
		"limits of text": {
			stdin: fine + "  limits: {maxDeletions: many, window: 1h}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"fine: spec.limits.maxDeletions: "},
		},
		"a misspelt limit": {
			stdin: fine + "  limits: {maxDeletion: 100, window: 1h}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"fine: spec.limits.maxDeletion: unknown field"},
		},
		"an outcome that is not a string": {
			stdin: strings.Replace(fine, "ttl: 1d", "ttl: 1d, outcome: succeeded(object)", 1), args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"fine: spec.rules[0].outcome:1:1: returns bool, but outcome must return string"},
		},
		"a repeated key": {
			stdin: fine + "  mode: DryRun\n  mode: Enforce\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"stdin:8: fine: spec.mode: repeated field"},
		},
		"no name": {
			stdin: "apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nspec: {}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"stdin:1: -: metadata.name: missing"},
		},
		"an unknown version": {
			stdin: "apiVersion: sunset-k8s.io/v1\nkind: ClusterRetentionPolicy\nmetadata: {name: a}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"a: apiVersion: sunset-k8s.io/v1 ClusterRetentionPolicy is not supported", "hint: did you mean apiVersion: sunset-k8s.io/v1alpha1 and kind: ClusterRetentionPolicy?"},
		},
		"an unknown kind": {
			stdin: "apiVersion: sunset-k8s.io/v1alpha1\nkind: QuotaPolicy\nmetadata: {name: a}\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"a: kind: sunset-k8s.io/v1alpha1 QuotaPolicy is not supported"},
		},
		"a spec that is an array": {
			stdin: "apiVersion: sunset-k8s.io/v1alpha1\nkind: ClusterRetentionPolicy\nmetadata: {name: a}\nspec: [1]\n", args: []string{"-f", "-"}, code: command.ExitFindings,
			wants: []string{"stdin:4: a: spec: array given, object expected"},
		},
		"a protected kind": {
			stdin: `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"a"},"spec":{"rules":[{"name":"a","target":{"apiVersion":"v1","kind":"Namespace"},"eligible":"true","startTime":"object.metadata.creationTimestamp","ttl":"1d"}]}}`,
			args:  []string{"-f", "-"}, code: command.ExitFindings, wants: []string{"spec.rules[0].target.kind: ", "--allow-kinds=Namespace"},
		},
		"a protected kind that is allowed": {
			stdin: `{"apiVersion":"sunset-k8s.io/v1alpha1","kind":"ClusterRetentionPolicy","metadata":{"name":"a"},"spec":{"rules":[{"name":"a","target":{"apiVersion":"v1","kind":"Namespace"},"eligible":"true","startTime":"object.metadata.creationTimestamp","ttl":"1d"}]}}`,
			args:  []string{"-f", "-", "--allow-kinds", "Namespace"}, wants: []string{"no problems"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wants(t, run(t, test.stdin, append([]string{"validate"}, test.args...)...), test.code, test.wants...)
		})
	}
}

func TestValidateNamesFileAndLineOfWhatItCannotRead(t *testing.T) {
	wants(t, run(t, "", "validate", "-f", "testdata/broken.yaml"), command.ExitFindings, "testdata/broken.yaml:6: ")
}

// TestValidateReportsAllUnreadableFiles: a document that cannot be parsed does not hide problems of others.
func TestValidateReportsAllUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "a: [\n---\nb: {\n")
	write(t, dir, "b.json", `{"kind": x}`)
	write(t, dir, "c.yaml", strings.Replace(fine, "ttl: 1d", "ttl: never", 1))
	got := run(t, "", "validate", "-f", dir)
	wants(t, got, command.ExitFindings, "a.yaml:1: ", "a.yaml:3: ", "b.json:1: ", "spec.rules[0].ttl", "1 policy in 3 files: 4 problems")
	wants(t, run(t, "", "validate", "-f", dir, "-o", "jsonpath={.problems[*].fileLine}"), command.ExitFindings, "1 3 1 ")
}
