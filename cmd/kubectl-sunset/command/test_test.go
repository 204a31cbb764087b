// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestSamples(t *testing.T) {
	wants(t, run(t, "", "test", samples), command.ExitOK, "0 failed")
}

const wrongWant = `# why
at: 2026-03-01T12:00:00Z
verdicts:
- {kind: Pod, namespace: one, name: a, action: Delete, reason: Expired, dueTime: "2026-03-02T13:00:00+01:00"}
- {kind: Pod, namespace: one, name: gone, action: Keep, reason: Held}
errors:
- {name: a, message: no such key}
problems:
- spec.rules[0]
`

// testCase is a directory with a test.
func testCase(t *testing.T, want string) string {
	dir := t.TempDir()
	write(t, dir, "policy.yaml", podPolicy)
	write(t, dir, "objects.yaml", pods)
	write(t, dir, "want.yaml", want)
	return dir
}

func TestFailingTestShowsWhatDiffers(t *testing.T) {
	dir := testCase(t, wrongWant)
	t.Chdir(filepath.Dir(dir))
	golden := run(t, "", "test", filepath.Base(dir))
	wants(t, golden, command.ExitFindings,
		"FAIL "+filepath.Base(dir)+"\n",
		"    Pod one/a:\n",
		"    - action: Delete\n", "    + action: Wait\n",
		"    - reason: Expired\n", "    + reason: Waiting\n",
		"  - {kind: Pod, namespace: one, name: gone, action: Keep, reason: Held}\n    no rule selects the object, or it does not exist\n",
		"  + {kind: Pod, namespace: two, name: b, action: Wait, reason: Waiting, policy: pods, rule: pods, dueTime: \"2026-03-02T12:00:00Z\"}\n    not in want.yaml\n",
		"  - error {name: a, message: \"no such key\"}\n",
		"  - problem spec.rules[0]\n",
		"0 passed, 1 failed\n")
}

func TestUpdateAcceptsWhatThereIs(t *testing.T) {
	dir := testCase(t, wrongWant+"\n# for tests\nallowKinds: [Namespace]\n")
	wants(t, run(t, "", "test", "--update", dir), command.ExitOK, "UPDATED "+dir, "1 passed, 0 failed")
	wants(t, run(t, "", "test", dir), command.ExitOK, "1 passed, 0 failed")
	got, err := os.ReadFile(filepath.Join(dir, "want.yaml"))
	expect.NoError(t, err)
	want := `# why
at: 2026-03-01T12:00:00Z

# for tests
allowKinds: [Namespace]
verdicts:
- {kind: Pod, namespace: one, name: a, action: Wait, reason: Waiting, policy: pods, rule: pods, dueTime: "2026-03-02T12:00:00Z"}
- {kind: Pod, namespace: two, name: b, action: Wait, reason: Waiting, policy: pods, rule: pods, dueTime: "2026-03-02T12:00:00Z"}
`
	if string(got) != want {
		t.Errorf("want.yaml is\n%s", got)
	}
	more := strings.Replace(want, "reason: Waiting,", "reason: Waiting, message: ,", 1)
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "want.yaml"), []byte(more), 0o644))
	wants(t, run(t, "", "test", "--update", dir), command.ExitOK, "1 passed, 0 failed")
	got, err = os.ReadFile(filepath.Join(dir, "want.yaml"))
	expect.NoError(t, err)
	expect.Equal(t, "a test that passes is not changed", more, string(got))
}

// TestOwnerIsCompared, with its API version.
func TestOwnerIsCompared(t *testing.T) {
	files := []string{"policy.yaml", "objects.yaml", "want.yaml"}
	for version, code := range map[string]int{"batch/v1": command.ExitOK, "batch/v2": command.ExitFindings} {
		dir := t.TempDir()
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join(withJob, name))
			expect.NoError(t, err)
			write(t, dir, name, strings.Replace(string(data), "owner: {kind: Job, name: fresh}", "owner: {apiVersion: "+version+", kind: Job, name: fresh}", 1))
		}
		wants(t, run(t, "", "test", dir), code)
	}
}

func TestInvalidWantIsAnError(t *testing.T) {
	for name, want := range map[string]string{
		"no time":               "verdicts: []\n",
		"an unknown field":      "at: 2026-03-01T12:00:00Z\nverdict: []\n",
		"an unknown mode":       "at: 2026-03-01T12:00:00Z\nmodes: dry\n",
		"an incomplete verdict": "at: 2026-03-01T12:00:00Z\nverdicts: [{kind: Pod, name: a}]\n",
		"a cost":                "at: 2026-03-01T12:00:00Z\nverdicts: [{kind: Pod, name: a, action: Wait, reason: Waiting, estimatedMonthlyCost: \"1\"}]\n",
		"a missing file":        "at: 2026-03-01T12:00:00Z\nobjects: [other.yaml]\n",
	} {
		t.Run(name, func(t *testing.T) {
			wants(t, run(t, "", "test", testCase(t, want)), command.ExitError, "error: ")
		})
	}
}

func TestReportsAsJUnit(t *testing.T) {
	dir := testCase(t, wrongWant)
	name := filepath.Base(dir)
	t.Chdir(filepath.Dir(dir))
	got := run(t, "", "test", name, "-o", "junit")
	wants(t, got, command.ExitFindings, `<testsuite name="kubectl sunset test" tests="1" failures="1">`,
		`<testcase classname="kubectl sunset test" name="`+name+`">`, `<failure message="the decisions differ from those in want.yaml">  Pod one/a:`)
	wants(t, run(t, "", "test", "--update", name, "-o", "junit"), command.ExitOK, `tests="1" failures="0"`)
}

func TestFailOnlyPrintsFailingTests(t *testing.T) {
	failing, passing := testCase(t, wrongWant), testCase(t, wrongWant)
	wants(t, run(t, "", "test", "--update", passing), command.ExitOK)
	expect.Equal(t, "text of an update", "1 passed, 0 failed\n", run(t, "", "test", "--fail-only", "--update", testCase(t, wrongWant)).out)
	args := []string{"test", failing, passing, "--fail-only", "-o"}
	expect.Equal(t, "jsonpath", "1 1 "+failing, run(t, "", append(args, "jsonpath={.passed} {.failed} {.tests[*].directory}")...).out)
	junit := run(t, "", append(args, "junit")...)
	wants(t, junit, command.ExitFindings, `tests="1" failures="1"`, `name="`+failing+`"`)
	expect.Equal(t, "the passing test is in the report", false, strings.Contains(junit.out, passing))
}

func TestRunOnlySomeTests(t *testing.T) {
	for name, test := range map[string]struct {
		only, wants string
		code        int
	}{
		"one":                   {"/finished-jobs$", "1 passed, 0 failed", command.ExitOK},
		"none":                  {"^nothing", "that matches --run=^nothing", command.ExitError},
		"no regular expression": {"(", "--run: ", command.ExitError},
	} {
		t.Run(name, func(t *testing.T) {
			wants(t, run(t, "", "test", samples, "--run", test.only), test.code, test.wants)
		})
	}
}

func TestPreviewFailsOnDeletions(t *testing.T) {
	args := []string{"-f", samples + "/finished-jobs", "--at=2026-03-01T12:00:00Z"} // three Jobs are due
	for failOn, code := range map[string]int{"deletions>3": command.ExitOK, "deletions > 2": command.ExitFindings, "deletions>0": command.ExitFindings, "objects>3": command.ExitError, "deletions>x": command.ExitError} {
		t.Run(failOn, func(t *testing.T) {
			got := run(t, "", append([]string{"preview", "--fail-on=" + failOn}, args...)...)
			expect.Equal(t, "exit code", code, got.code)
			if code == command.ExitFindings {
				wants(t, got, code, "more than ", " objects would be deleted at 2026-03-01T12:00:00Z")
			}
		})
	}
}
