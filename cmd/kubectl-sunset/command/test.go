// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/policytest"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/engine"
)

// testCommand is the command test.
type testCommand struct {
	streams    genericiooptions.IOStreams
	protection protectionFlags
	update     bool
	failOnly   bool
	only       string // a regular expression
	output     outputFlags
}

func newTest(streams genericiooptions.IOStreams) *cobra.Command {
	t := &testCommand{streams: streams}
	c := &cobra.Command{
		Use:     "test DIRECTORY...",
		Short:   "Run the tests of policies",
		Long:    testHelp,
		Example: testExamples,
		RunE:    func(c *cobra.Command, args []string) error { return t.run(c.Context(), args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	t.protection.add(c.Flags())
	t.output.add(c, asJUnit)
	c.Flags().StringVar(&t.only, "run", "", "run only tests whose directory matches this regular expression")
	c.Flags().BoolVar(&t.failOnly, "fail-only", false, "print only failing tests, in every output format")
	c.Flags().BoolVar(&t.update, "update", false, "replace verdicts, errors and problems in each "+policytest.FileName+" with the actual results")
	return c
}

// patience is the deadline for one rule on one object. It is long, so that no test fails on a busy machine.
const patience = 5 * time.Second

func (t *testCommand) run(ctx context.Context, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("name at least one directory that contains a " + policytest.FileName + ", in it or below it")
	}
	only, err := regexp.Compile(t.only)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	paths, err := findTests(dirs)
	if err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !only.MatchString(filepath.ToSlash(filepath.Dir(path))) })
	switch {
	case len(paths) == 0 && t.only != "":
		return fmt.Errorf("no %s in or below %v in a directory that matches --run=%s", policytest.FileName, dirs, t.only)
	case len(paths) == 0:
		return fmt.Errorf("no %s in or below %v", policytest.FileName, dirs)
	}
	loader, err := t.protection.loader(engine.Options{EvalDeadline: patience})
	if err != nil {
		return err
	}
	tests := make([]policyTest, len(paths))
	for i, path := range paths {
		if tests[i], err = readTest(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	report := &TestReport{TypeMeta: preview.TypeMeta("TestReport"), Tests: make([]TestResult, len(tests))}
	progress := terminal.StartProgress(t.streams.ErrOut, "tests run")
	defer progress.Stop()
	for i, one := range tests {
		if report.Tests[i], err = t.one(ctx, one, loader); err != nil {
			return fmt.Errorf("%s: %w", one.dir, err)
		}
		if report.Tests[i].Result == testFailed {
			report.Failed++
		}
		progress.Set(i + 1)
	}
	progress.Stop()
	report.Passed = len(tests) - report.Failed
	if t.failOnly {
		report.Tests = slices.DeleteFunc(report.Tests, func(r TestResult) bool { return r.Result != testFailed })
	}
	write := report.write
	if t.output.is(asJUnit) {
		write = report.writeJUnit
	}
	if err := t.output.print(t.streams.Out, report, write); err != nil {
		return err
	}
	if report.Failed > 0 {
		return errFindings
	}
	return nil
}

func (t *testCommand) one(ctx context.Context, one policyTest, loader *load.Loader) (TestResult, error) {
	result := TestResult{Directory: one.dir, Result: testPassed}
	got, err := one.run(ctx, loader.Compiler, loader.Protection)
	if err != nil {
		return result, err
	}
	result.Differences = policytest.Diff(one.want, got)
	switch {
	case len(result.Differences) == 0:
	case t.update:
		result.Result, err = testUpdated, one.update(got)
	default:
		result.Result = testFailed
	}
	return result, err
}

const testHelp = `Run the tests of policies: every want.yaml in or below the directories. The command evaluates the policies in policy.yaml
for the objects in objects.yaml, at the fixed time in want.yaml, and compares the verdicts with those in want.yaml. It
does not connect to a cluster: references, targets and selected are about the objects in the files. For a failing test it
prints the differences: "-" is the expected value, "+" is the actual value.

want.yaml:
  at: 2026-03-01T12:00:00Z       # the time of the test; required
  policies: [policy.yaml]        # files in the same directory; this is the default
  objects: [objects.yaml]        # the same for objects
  allowKinds: [PersistentVolume] # protected kinds that the policies may target, as in --allow-kinds
  modes: asWritten               # DryRun policies are dry runs; by default they are treated as Enforce, as in preview
  verdicts:                      # one for each object that a rule selects; every field that you set must match
  - {kind: Job, namespace: team-a, name: report, action: Delete, reason: Expired, policy: batch, rule: jobs,
     dueTime: "2026-03-01T11:00:00Z"}
  errors:                        # expressions that fail; message can be a part of the error
  - {policy: batch, rule: jobs, namespace: team-a, name: odd, message: no such key}
  problems:                      # parts of the problems of invalid policies
  - "spec.rules[0].ttl: "

Exit codes: 0 all tests pass; 1 a test fails; 2 wrong usage, or a file that cannot be read.`

const testExamples = `  # Run all tests below a directory
  kubectl sunset test policies/

  # Run some of them
  kubectl sunset test policies/ --run='batch|ci'

  # Write a report for continuous integration
  kubectl sunset test policies/ -o junit > report.xml

  # Which tests fail?
  kubectl sunset test policies/ --fail-only -o custom-columns=DIRECTORY:.directory

  # Accept the actual results, and review the difference
  kubectl sunset test --update policies/ && git diff policies/`
