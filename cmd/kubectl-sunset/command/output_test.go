// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

// results are commands that print a result, each with the kind of the result.
func results(t *testing.T) map[string][]string {
	return map[string][]string{
		"Preview":          {"preview", "-f", samples + "/combining/evaluation-failed"},
		"Explanation":      {"explain", "jobs.batch/older", "-f", "testdata/explain.yaml"},
		"ValidationReport": {"validate", "-f", "testdata/invalid.yaml"},
		"TestReport":       {"test", testCase(t, wrongWant)},
		"VersionInfo":      {"version", "--client"},
		"List":             {"rbac", "--local", "-f", "testdata/rbac.yaml", "--owners", "jobs.batch"},
	}
}

// TestOutputHasAKindInEveryFormat: all formats have the same content, also those that a command writes part by part.
func TestOutputHasAKindInEveryFormat(t *testing.T) {
	for kind, args := range results(t) {
		t.Run(kind, func(t *testing.T) {
			asText, asJSON := run(t, "", args...), run(t, "", append(args, "-o", "json")...)
			var got struct{ APIVersion, Kind string }
			expect.NoError(t, json.Unmarshal([]byte(asJSON.out), &got))
			if want := "cli.sunset-k8s.io/v1alpha1"; got.Kind != kind || got.APIVersion != want && kind != "List" {
				t.Errorf("%+v, want %s of %s", got, kind, want)
			}
			expect.Equal(t, "exit code", asText.code, asJSON.code)
			for _, format := range []string{"yaml", "kyaml"} {
				sameInYAML(t, asJSON, run(t, "", append(args, "-o", format)...))
			}
			for _, format := range []string{"jsonpath={.kind}", "go-template={{.kind}}"} {
				expect.Equal(t, format, kind, run(t, "", append(args, "-o", format)...).out)
			}
			expect.Equal(t, "--template", kind, run(t, "", append(args, "--template={{.kind}}")...).out)
		})
	}
}

func TestOutputOfNames(t *testing.T) {
	for want, args := range map[string][]string{
		"job.batch/with-team\njob.batch/without-team\n": results(t)["Preview"],
		"job.batch/older\n":                             results(t)["Explanation"],
	} {
		expect.Equal(t, "names", want, run(t, "", append(args, "-o", "name")...).out)
	}
	wants(t, run(t, "", append(results(t)["List"], "-o", "name")...), command.ExitOK, "clusterrole.rbac.authorization.k8s.io/sunset:batch:jobs.batch\n")
	wants(t, run(t, "", append(results(t)["VersionInfo"], "-o", "name")...), command.ExitError, "allowed formats are: custom-columns,")
}

func TestWideOutputHasMoreColumns(t *testing.T) {
	golden(t, "preview-wide", run(t, "", append(results(t)["Preview"], "-o", "wide")...))
	wants(t, newStatuses(t).run(t, "", "status", "-o", "wide"), command.ExitFindings, "DELETED   NEXT      +1H   +24H   +7D   HELD   SIZE\n", "412   60s ago     3      4     5      0      -\n")
}

// TestUnknownFormatIsAnErrorBeforeTheCommandRuns also checks the formats that only other commands have.
func TestUnknownFormatIsAnErrorBeforeTheCommandRuns(t *testing.T) {
	s := newWaiting(t)
	for _, format := range []string{"xml", "wide", "text", "jsonpath={", "jsonpath"} {
		wants(t, s.run(t, "", "approve", "batch", "--yes", "-o", format), command.ExitError, "error: ")
	}
	expect.Equal(t, "requests", 0, len(s.asked))
	wants(t, s.run(t, "", "status", "-o", "xml"), command.ExitError, `output format "xml", allowed formats are: custom-columns,`, ",wide,yaml")
}

func TestStatusForPrograms(t *testing.T) {
	s := newStatuses(t)
	golden(t, "status-yaml", s.run(t, "", "status", "-o", "yaml"))
	expect.Equal(t, "names", "clusterretentionpolicy.sunset-k8s.io/batch\nclusterretentionpolicy.sunset-k8s.io/typo\n"+
		"retentionpolicy.sunset-k8s.io/own\nretentionpolicy.sunset-k8s.io/new\n", s.run(t, "", "status", "-o", "name").out)
	empty := newAPIServer(t)
	expect.Equal(t, "no policies", "[]", empty.run(t, "", "status", "-o", "jsonpath={.items}").out)
}

// TestApprovalIsPrinted: -o prints the approval that the command creates, and all other text goes to standard error.
func TestApprovalIsPrinted(t *testing.T) {
	s := newWaiting(t)
	for _, test := range []struct {
		args    []string
		created int
		by      string
	}{
		{[]string{"--dry-run=client", "-o", "yaml"}, 0, ""},
		{[]string{"--yes", "-o", "json"}, 1, "alice"},
		{[]string{"--yes", "-o", "yaml"}, 1, "alice"}, // it is approved already
	} {
		got := s.run(t, "", "approve", append([]string{"batch"}, test.args...)...)
		var approval struct {
			Kind string
			Spec struct{ ApprovedBy, Hash string }
		}
		expect.NoError(t, yaml.Unmarshal([]byte(got.out), &approval))
		if approval.Kind != "ClusterRetentionApproval" || approval.Spec.Hash != "3f2a" || approval.Spec.ApprovedBy != test.by || len(s.created) != test.created {
			t.Errorf("%v: %+v, %d created\n%s", test.args, approval, len(s.created), got.err)
		}
		if !strings.Contains(got.err, "due now:") {
			t.Errorf("%v: no summary on standard error: %s", test.args, got.err)
		}
	}
	expect.Equal(t, "name", "clusterretentionapproval.sunset-k8s.io/batch-3f2a\n", s.run(t, "", "approve", "batch", "--dry-run=client", "-o", "name").out)
}
