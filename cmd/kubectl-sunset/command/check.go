// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/check"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/controllers/process/version"
)

// checkCommand is the command check.
type checkCommand struct {
	streams    genericiooptions.IOStreams
	now        time.Time
	namespace  string
	wait       time.Duration
	output     outputFlags
	connection connection
}

func newCheck(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	k := &checkCommand{streams: streams, now: now}
	c := &cobra.Command{
		Use:     "check [--wait=DURATION]",
		Short:   "Check whether Sunset is installed and works",
		Long:    checkHelp,
		Example: checkExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return k.run(c.Context()) },
	}
	c.Flags().DurationVar(&k.wait, "wait", 0, "repeat the checks until none fails, for at most this time, such as 2m")
	k.output.add(c)
	k.connection.add(c, &k.namespace, "namespace of the controller; the default is all namespaces")
	return c
}

// checkInterval is the time between two attempts of --wait.
const checkInterval = 2 * time.Second

func (k *checkCommand) run(ctx context.Context) error {
	c, err := k.connection.connect()
	if err != nil {
		return err
	}
	started := time.Now()
	progress, attempts := terminal.StartProgress(k.streams.ErrOut, "attempts to pass all checks"), 0
	defer progress.Stop()
	var report *check.Report
	_ = wait.PollUntilContextTimeout(ctx, checkInterval, k.wait, true, func(context.Context) (bool, error) { // which ends before the last attempt
		settings := check.Settings{Namespace: k.namespace, Version: version.Get().Version, Now: k.now.Add(time.Since(started))}
		report, err = check.Run(ctx, c, settings)
		attempts++
		progress.Set(attempts)
		return err == nil && !report.HasFailed(), nil
	})
	progress.Stop()
	if err != nil {
		return err
	}
	if err := k.output.print(k.streams.Out, report, report.WriteText); err != nil {
		return err
	}
	if report.HasFailed() {
		return errFindings
	}
	return nil
}

const checkHelp = `Check the installation of Sunset, and print a line for each check:

- PASS: nothing to do
- WARN: Sunset works, but maybe not as intended
- FAIL: Sunset does not work, or a policy lacks permissions
- SKIP: you may not read what the check needs, or there is nothing to compare

The checks are: the kinds and their fields, the clock of this computer, the replicas and the version of the controller, the
Lease of the leader by the clock of the API server, admission, the permissions and conditions of policies, and whether
RetentionArchives and RetentionDigests are ready. If a policy has rules about images, the command also checks that each
Linux node has an agent.

The command only reads. To make all checks, you need permission to list Deployments, ValidatingAdmissionPolicies, their
bindings, ValidatingWebhookConfigurations, policies, RetentionArchives and RetentionDigests, and to get the Lease
sunset-controller; for the agents also to list nodes and NodeImageReports.

Exit codes: 0 no check failed; 1 at least one failed; 2 wrong usage, or a cluster that does not respond.`

const checkExamples = `  # Is Sunset installed, and does it work?
  kubectl sunset check

  # Wait until a new installation works
  kubectl sunset check --wait=2m

  # Which checks failed?
  kubectl sunset check -o jsonpath='{.checks[?(@.result=="FAIL")].name}'`
