// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/load"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/policy/rbac"
)

// validateCommand is the command validate.
type validateCommand struct {
	streams    genericiooptions.IOStreams
	files      fileFlags
	protection protectionFlags
	output     outputFlags
	strict     bool // warnings count as problems
	rbac       bool
	account    accountFlag
	connection connection
}

func newValidate(streams genericiooptions.IOStreams) *cobra.Command {
	v := &validateCommand{streams: streams}
	c := &cobra.Command{
		Use:     "validate -f FILE|DIRECTORY...",
		Short:   "Check policies for problems",
		Long:    validateHelp,
		Example: validateExamples,
		RunE:    func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.files.add(c.Flags())
	v.protection.add(c.Flags())
	v.output.add(c)
	c.Flags().BoolVar(&v.strict, "warnings-as-errors", false, "exit with code 1 if there are warnings")
	c.Flags().BoolVar(&v.rbac, "rbac", false, "ask the cluster which permissions are missing, and print roles that grant them")
	v.account.add(c.Flags())
	v.connection.add(c, nil, "")
	return c
}

func (v *validateCommand) run(ctx context.Context, args []string) error {
	if !v.files.areGiven() {
		return errors.New("name one or more files with -f, or a kustomization with -k")
	}
	v.files.progress = terminal.StartProgress(v.streams.ErrOut, "objects read")
	defer v.files.progress.Stop()
	files, loader, in, err := v.files.load(args, v.streams.In, &v.protection, load.Read)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	in.CheckNames(false)
	in.Check(loader)
	validateSchemas(ctx, in)
	in.FindWithoutPolicy(files)
	missing, err := v.missing(ctx, in, loader)
	if err != nil {
		return err
	}
	v.files.progress.Stop()
	if err := v.print(files.Len(), in, missing); err != nil {
		return err
	}
	if in.Problems() > 0 || len(missing) > 0 || v.strict && in.Warnings() > 0 {
		return errFindings
	}
	return nil
}

// missing returns the missing permissions for the policies, in the order of the policies.
func (v *validateCommand) missing(ctx context.Context, in *load.Contents, loader *load.Loader) ([]rbac.Missing, error) {
	if !v.rbac {
		return nil, nil
	}
	c, err := v.connection.connect()
	if err != nil {
		return nil, err
	}
	finder := roleFinder{compiler: loader.Compiler, resources: c.Resource}
	needed, err := finder.ofAll(in.Rules(), notes{v.streams.ErrOut}, "; validate does not check the permissions for the owners")
	if err != nil {
		return nil, err
	}
	return missingPermissions(ctx, c, v.account.NamespacedName, needed)
}

func (v *validateCommand) print(files int, in *load.Contents, missing []rbac.Missing) error {
	return v.output.print(v.streams.Out, newReport(files, in, missing), func(w io.Writer) error {
		writeFileProblems(w, in)
		load.WriteProblems(w, in.Documents())
		load.WriteWarnings(w, in.Policies)
		writeMissing(w, missing)
		writeSummary(w, files, in, len(missing))
		return nil
	})
}

const validateHelp = `Check the policies, RetentionDigests and RetentionArchives in files, and print every problem with its file, document,
field, line and column inside the expression, and a hint. Unknown fields and duplicate fields are problems too, and what an
API server would refuse with the CustomResourceDefinitions of this version.

Files are YAML or JSON and may contain many documents, lists, and objects of other kinds, which the command skips and
counts. In a directory, the command reads the files that end in .yaml, .yml or .json. If a part of a file cannot be parsed,
the command prints the error and continues.

A warning shows a possible mistake in a valid policy: images that expire after minutes, fields and kinds that Kubernetes
does not have, a startTime that reads text other than a time, text that YAML reads as a comment, and overrides of rules
that do not exist. The command knows the kinds and fields of the Kubernetes version that it was built with, and those of
the CustomResourceDefinitions in the files. With --warnings-as-errors, warnings cause exit code 1 too.

The command connects to a cluster only with --rbac. It then prints the permissions that are missing for Sunset and, for
RetentionPolicies, for their own ServiceAccounts, each with a role that grants it. To print only roles, use the command
kubectl sunset rbac.

Exit codes: 0 every policy is valid; 1 there are problems, a file cannot be parsed, permissions are missing, or a file or
directory that you name contains no policy; 2 wrong usage, or a file or cluster that cannot be read.`

const validateExamples = `  # Check one file
  kubectl sunset validate -f policy.yaml

  # Check all files below a directory, with output for a program
  kubectl sunset validate -R -f policies/ -o json

  # Does Sunset have the permissions that the policy needs?
  kubectl sunset validate -f policy.yaml --rbac

  # Check a kustomization
  kubectl sunset validate -k overlays/production

  # Check the output of a Helm chart
  helm template ./chart | kubectl sunset validate -f -`
