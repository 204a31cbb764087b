// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestColumnsOfTheUser(t *testing.T) {
	file := write(t, t.TempDir(), "columns", "OBJECT   WHY\n.name    {.reason}\n")
	for name, test := range map[string]struct {
		of, format, want string
	}{
		"a row for each entry of a list":      {"Preview", "custom-columns=OBJECT:.name,WHY:.reason", "OBJECT         WHY\nwith-team      Expired\nwithout-team   EvaluationFailed\n"},
		"from a file":                         {"Preview", "custom-columns-file=" + file, "OBJECT         WHY\nwith-team      Expired\nwithout-team   EvaluationFailed\n"},
		"a row for an object without a list":  {"Explanation", "custom-columns=NAME:object.name,KIND:{kind},RULES:{.rules[*].rule}", "NAME    KIND          RULES\nolder   Explanation   jobs\n"},
		"a row for each object of Kubernetes": {"List", "custom-columns=NAME:.metadata.name", "NAME\nsunset:batch:jobs.batch\nsunset:batch:pods\nsunset:batch:widgets.example.com\nsunset:team-a:own:events.events.k8s.io\nsunset:own:events.events.k8s.io\nsunset:own:events.events.k8s.io\n"},
		"numbers, and a missing value":        {"ValidationReport", "custom-columns=LINE:.line,OTHER:.other", "LINE     OTHER\n<none>   <none>\n2        <none>\n1        <none>\n<none>   <none>\n1        <none>\n<none>   <none>\n"},
		"several values":                      {"Explanation", "custom-columns=FIELDS:.rules[*].expressions[*].field", "FIELDS\neligible,startTime\n"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "output", test.want, run(t, "", append(results(t)[test.of], "-o", test.format)...).out)
		})
	}
	s := newModed(t)
	expect.Equal(t, "changed objects", "NAME    MODE\nbatch   Suspend\nown     Suspend\n",
		s.run(t, "", "suspend", "--all", "--dry-run=client", "-o", "custom-columns=NAME:.metadata.name,MODE:.spec.mode").out)
}

func TestInvalidColumnsAreAnErrorBeforeTheCommandRuns(t *testing.T) {
	s := newWaiting(t)
	file := write(t, t.TempDir(), "columns", "NAME KIND\n.metadata.name\n")
	for format, want := range map[string]string{
		"custom-columns":                           `custom-columns: "" is not a JSONPath; write each column as HEADER:PATH`,
		"custom-columns=NAME":                      `custom-columns: "" is not a JSONPath`,
		"custom-columns=NAME:.metadata.name,":      `custom-columns: "" is not a JSONPath`,
		"custom-columns=NAME:.items[":              `".items[" is not a JSONPath`,
		"custom-columns-file=" + file:              "custom-columns-file: 2 headers and 1 paths",
		"custom-columns-file=" + t.TempDir() + "/": "read the columns: ",
	} {
		wants(t, s.run(t, "", "approve", "batch", "--yes", "-o", format), command.ExitError, want)
	}
	expect.Equal(t, "requests", 0, len(s.asked))
}
