// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/engine"
)

func newArchive(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:     "archive COMMAND",
		Short:   "Find archived objects, and restore them",
		Long:    archiveHelp,
		Example: archiveExamples,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return fmt.Errorf("name a command\nSee '%s --help'", c.CommandPath())
		},
	}
	c.AddCommand(newArchiveLs(streams, now), newArchiveGet(streams, now), newArchiveLogs(streams, now), newArchiveDiff(streams, now),
		newArchiveVerify(streams, now), newArchiveRestore(streams, now), newArchiveCompact(streams, now))
	return c
}

// archiveCommand is what the commands about records have in common: where the archive is, and which records to select.
type archiveCommand struct {
	archiveSource
	selection     archive.Selection
	allNamespaces bool
	labels        string
	since, until  timeFlag
	condition     string
	prints        bool // while it reads records: a line with their number would be between the others
}

func newArchiveCommand(streams genericiooptions.IOStreams, now time.Time) *archiveCommand {
	return &archiveCommand{
		archiveSource: archiveSource{streams: streams}, since: timeFlag{now: now, past: true}, until: timeFlag{now: now, past: true},
	}
}

// complete adds the flags that select records, and lets the command run with these. The command must have its other flags already.
func (a *archiveCommand) complete(c *cobra.Command, run func(context.Context, *openArchive) error) *cobra.Command {
	c.Use += " [-n NAMESPACE]"
	flags := c.Flags()
	flags.BoolVarP(&a.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces and cluster-scoped objects; the default with --url")
	flags.StringVarP(&a.labels, "selector", "l", "", "only objects with these labels, such as app=web,tier!=cache")
	flags.StringVar(&a.selection.Policy, "policy", "", "only objects that this policy deletes: NAME, or NAMESPACE/NAME for a RetentionPolicy")
	flags.StringVar(&a.selection.UID, "uid", "", "only the object with this UID")
	flags.BoolVar(&a.selection.Kept, "kept", false, "also records of versions that Sunset did not delete")
	flags.StringVar(&a.condition, "cel", "", `only records for which this CEL expression is true, such as 'record.outcome == "Failed"'; the variable object is the archived object`)
	flags.Var(&a.since, "since", "only deletions from this time on: RFC 3339, or a duration before now such as 7d")
	flags.Var(&a.until, "until", "only deletions before this time: RFC 3339, or a duration before now such as 7d")
	c.Flag("since").DefValue, c.Flag("until").DefValue = "", ""
	a.addSource(c, &a.namespace, func(ctx context.Context, from *openArchive, args []string) error {
		from.Skip = from.unread.add
		err := a.find(ctx, from, args)
		isMissing := err == nil && a.noteMissing(from)
		if err == nil {
			err = run(ctx, from)
		}
		if err == nil && isMissing {
			err = errFindings
		}
		return from.unread.warn(a.streams.ErrOut, from.Name, err)
	})
	c.ValidArgsFunction = completeKinds(&a.connection)
	return c
}

// find finds the records that the arguments and flags select.
func (a *archiveCommand) find(ctx context.Context, from *openArchive, args []string) (err error) {
	progress := terminal.StartProgress(a.streams.ErrOut, "objects and records of the archive read")
	defer progress.Stop()
	from.Bucket = countedBucket{from.Bucket, progress}
	s := &a.selection
	s.Since, s.Until, s.Progress = a.since.time, a.until.time, progress.Add
	if s.Objects, err = archive.ParseObjects(args, from.kind); err != nil {
		return err
	}
	if s.Selector, err = labels.Parse(a.labels); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	if s.Namespace, err = a.selectedNamespace(); err != nil {
		return err
	}
	if a.condition != "" {
		compiler, err := engine.NewCompiler(engine.Options{})
		if err != nil {
			return err
		}
		filter, problems := compiler.Filter(a.condition, "--cel")
		if len(problems) > 0 {
			return fmt.Errorf("%s\n%s", problems[0], problems[0].Snippet())
		}
		s.Filter, s.Evaluator = filter, compiler.NewEvaluator(ctx)
		defer s.Evaluator.Close()
	}
	from.entries, err = s.Find(ctx, from.Reader)
	if s.Restore {
		all := len(from.entries)
		from.entries, from.leftOut = s.LeaveOut(from.entries)
		from.kept = all - len(from.entries) - len(from.leftOut)
	}
	if err == nil && len(from.entries)+len(from.leftOut) == 0 {
		err = from.unread.encrypted()
	}
	return err
}

// noteMissing names the objects that the user names and the archive lacks, or notes that nothing was found. It reports whether an object is missing.
func (a *archiveCommand) noteMissing(from *openArchive) bool {
	var names []string
	for _, o := range a.selection.Missing(from.entries) {
		names = append(names, text.EscapeLine(o.Argument))
	}
	isNone := len(from.entries)+len(from.leftOut) == 0
	switch {
	case len(names) > 0:
		fmt.Fprintf(a.streams.ErrOut, "No record found in archive %s: %s.\n", from.Name, strings.Join(names, ", "))
	case isNone:
		fmt.Fprintf(a.streams.ErrOut, "No record found in archive %s.\n", from.Name)
	}
	if from.kept > 0 && (isNone || len(names) > 0) {
		fmt.Fprintf(a.streams.ErrOut, "%s found of versions that Sunset did not delete; to restore them, use --kept.\n", preview.Count(from.kept, "record"))
	}
	return len(names) > 0
}

// selectedNamespace returns the namespace of the selection; nil for all.
func (a *archiveCommand) selectedNamespace() (*string, error) {
	switch {
	case a.allNamespaces, a.namespace == "" && a.url != "":
		return nil, nil
	case a.namespace != "":
		return &a.namespace, nil
	}
	namespace, _, err := a.connection.ToRawKubeConfigLoader().Namespace()
	return &namespace, err
}

// read reads the records, and shows the number. If there are none, it returns errFindings.
func (a *archiveCommand) read(ctx context.Context, from *openArchive, yield func(archive.Content) error) error {
	if len(from.entries) == 0 {
		return errFindings
	}
	var progress *terminal.Progress
	if !a.prints {
		progress = terminal.StartProgress(a.streams.ErrOut, "records read")
		defer progress.Stop()
	}
	n := 0
	return archive.Read(ctx, from.Reader, from.entries, func(c archive.Content) error {
		n++
		progress.Set(n)
		return yield(c)
	})
}
