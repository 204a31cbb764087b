// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/restore"
)

// archiveRestore is the command archive restore.
type archiveRestore struct {
	*archiveCommand
	yes, diff bool
	options   restore.Options
	output    outputFlags
}

func newArchiveRestore(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	r := &archiveRestore{archiveCommand: newArchiveCommand(streams, now)}
	r.whole = true
	c := &cobra.Command{
		Use:     "restore [KIND[/NAME] | KIND NAME]... [-n NAMESPACE] [--yes] [--archive NAME | --url URL]",
		Short:   "Create archived objects again",
		Long:    archiveRestoreHelp,
		Example: archiveRestoreExamples,
	}
	flags := c.Flags()
	flags.BoolVarP(&r.yes, "yes", "y", false, "create the objects; without it, the command only shows what it would create")
	flags.BoolVar(&r.diff, "diff", false, "show how the objects to create differ from the archived ones")
	flags.BoolVar(&r.options.Redacted, "redacted", false, "restore objects although values were redacted and are not in the archive")
	flags.BoolVar(&r.options.Finished, "finished", false, "restore custom resources that ran to completion, although their controllers may run them again")
	c.MarkFlagsMutuallyExclusive("yes", "diff")
	r.output.add(c, asNames)
	c.MarkFlagsMutuallyExclusive("output", "diff")
	return r.complete(c, r.run)
}

func (r *archiveRestore) run(ctx context.Context, from *selected) error {
	c, err := r.connection.connect()
	if err != nil {
		return err
	}
	var records []restore.Record
	if err := r.read(ctx, from, func(c archive.Content) error {
		found, err := c.ToRestore(from.Name)
		records = append(records, found...)
		return err
	}); err != nil {
		return err
	}
	live, err := r.look(ctx, c, records)
	if err != nil {
		return err
	}
	steps := restore.Plan(records, live, r.options)
	if r.yes {
		err = r.create(ctx, c, steps)
	}
	if err == nil {
		err = r.print(steps)
	}
	if err == nil && restore.Count(steps) < len(steps) {
		err = errFindings
	}
	return err
}

// print prints the plan or, with --yes, what was created.
func (r *archiveRestore) print(steps []*restore.Step) error {
	var objects []any
	var names []*metav1.PartialObjectMetadata
	for _, s := range steps {
		if s.Object != nil {
			objects = append(objects, s.Object)
			names = append(names, nameOf(s.Ref.GroupVersion().String(), s.Ref.Kind, s.Ref.Name))
		}
	}
	text := restore.Text{Steps: steps, Created: r.yes}
	if r.diff || r.output.printer != nil { // the objects, and what is not restored
		text.OnlyRefused = true
		if err := text.Write(r.streams.ErrOut); err != nil || len(objects) == 0 {
			return err
		}
	}
	if r.diff {
		return r.showDifferences(steps)
	}
	return r.output.print(r.streams.Out, listOf(objects), text.Write, names...)
}

func (r *archiveRestore) showDifferences(steps []*restore.Step) error {
	for _, s := range steps {
		if s.Object == nil {
			continue
		}
		if _, err := writeDifference(r.streams.Out, "restored", runtime.DeepCopyJSON(s.Archived), s.Object); err != nil {
			return err
		}
	}
	return nil
}
