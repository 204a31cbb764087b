// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// The exit codes of every command.
const (
	ExitOK       = 0
	ExitFindings = 1 // an invalid policy, an expression that fails, a failing test
	ExitError    = 2 // wrong usage, a file that cannot be read, a cluster that does not respond

	ExitInterrupted = 130 // as of shells: a signal ended the command, after it has said what it did
)

// errFindings ends a command that did its work and found a problem. The command has printed the problem.
var errFindings = errors.New("findings")

// errInterrupted ends a command that a signal has interrupted. The command has printed what it did.
var errInterrupted = errors.New("the command was interrupted before")

// Run runs the command line and returns the exit code. Commands use now as the present time, except approve: it may wait for an answer,
// and reads the clock after it.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams, now time.Time) int {
	root := New(streams, now)
	root.SetArgs(args)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return ExitOK
	case errors.Is(err, errFindings):
		return ExitFindings
	case errors.Is(err, errInterrupted):
		return ExitInterrupted
	default:
		fmt.Fprintf(streams.ErrOut, "error: %s\n", text.Escape(err.Error()))
		return ExitError
	}
}

// New returns the root command with all other commands.
func New(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	streams.Out = terminal.WithStyle(streams.Out)
	root := &cobra.Command{
		Use:           program,
		Version:       version.Get().Version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl sunset"},
		Short:         "Check, preview, explain and test retention policies",
		Long:          rootHelp,
		Example:       rootExamples,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate(version.Get().Line(program) + "\n")
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help'", err, c.CommandPath())
	})
	addLogFlags(root.PersistentFlags())
	root.AddCommand(newValidate(streams), newPreview(streams, now), newUnused(streams, now), newExplain(streams, now), newTest(streams),
		newRBAC(streams), newCheck(streams, now), newStatus(streams, now), newApprove(streams), newSuspend(streams), newResume(streams), newHold(streams), newUnhold(streams), newUnmark(streams), newWho(streams), newArchive(streams, now), newRestore(streams), newVersion(streams), newCompletion(streams))
	root.InitDefaultHelpCmd()
	describeHelp(root)
	return root
}

// describeHelp adds a description and an example to the library's command help, as all other commands have.
func describeHelp(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Long = "Show the description, flags and examples of a command, as COMMAND --help does." + exitCodesHelp
			c.Example = "  # How do I use preview?\n  kubectl sunset help preview"
		}
	}
}

// program is the name of the executable.
const program = "kubectl-sunset"

const exitCodesHelp = "\n\nExit codes: 0 success; 2 wrong usage."

const rootHelp = `Sunset deletes objects that a Kubernetes cluster no longer needs, at the time that a policy sets. Use this command to
check policies before they delete anything: validate them, preview what they would delete and when, explain why an
object is deleted or kept, and run their tests. These commands change the cluster: approve creates an approval of a
policy, suspend and resume set the mode of policies, hold and unhold set an annotation of objects, unmark removes the
annotation that Sunset sets on objects, and archive restore and restore create objects again. Flags for the connection,
for the output format (-o) and for logs (-v) are those of kubectl. In JSON and YAML, results have apiVersion
cli.sunset-k8s.io/v1alpha1 and a kind. On a terminal, text is in color, unless you set the environment variable NO_COLOR,
and a command that takes more than two seconds shows its progress.

Exit codes: 0 success; 1 the command found a problem (an invalid policy, an expression that fails, a failing test); 2
wrong usage, or a file or cluster that cannot be read.`

const rootExamples = `  # Is this policy valid?
  kubectl sunset validate -f policy.yaml

  # What would it delete from the cluster, and when?
  kubectl sunset preview -f policy.yaml

  # What does nothing use?
  kubectl sunset unused

  # Why is this Job still there?
  kubectl sunset explain job/report -n team-a

  # Do all tests of policies pass?
  kubectl sunset test policies/

  # Is Sunset installed, and does it work?
  kubectl sunset check

  # What is deleted next, and what stops deletions?
  kubectl sunset status

  # Who deleted this Job?
  kubectl sunset who job/report -n team-a

  # Bring back a Job that was deleted
  kubectl sunset archive restore job/report -n team-a --yes

  # Approve the change of a policy that waits for approval
  kubectl sunset approve batch

  # Stop the deletions of all policies, and resume them
  kubectl sunset suspend --all
  kubectl sunset resume --all

  # Keep an object
  kubectl sunset hold job/report -n team-a`
