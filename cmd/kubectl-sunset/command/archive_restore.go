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
		RunE:    func(c *cobra.Command, args []string) error { return explainArchive(r.run(c.Context(), args)) },
	}
	flags := c.Flags()
	flags.BoolVarP(&r.yes, "yes", "y", false, "create the objects; without it, the command only shows what it would create")
	flags.BoolVar(&r.diff, "diff", false, "show how the objects to create differ from the archived ones")
	flags.BoolVar(&r.options.Finalizers, "finalizers", false, "keep finalizers; their controllers must run, or the objects cannot be deleted")
	flags.BoolVar(&r.options.Redacted, "redacted", false, "restore objects although values were redacted and are not in the archive")
	flags.BoolVar(&r.options.Finished, "finished", false, "restore custom resources that ran to completion, although their controllers may run them again")
	c.MarkFlagsMutuallyExclusive("yes", "diff")
	r.addSelection(c)
	r.output.add(c, asNames)
	c.MarkFlagsMutuallyExclusive("output", "diff")
	r.addConnection(c)
	return c
}

func (r *archiveRestore) run(ctx context.Context, args []string) error {
	c, err := r.connection.connect()
	if err != nil {
		return err
	}
	from, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := r.find(ctx, from, args)
	if err != nil {
		return err
	}
	if len(found.Records) == 0 {
		r.noRecords(from)
		return errFindings
	}
	records, err := r.records(ctx, from, found.Records)
	if err != nil {
		return err
	}
	live, err := r.look(ctx, c, records)
	if err != nil {
		return err
	}
	steps := restore.Plan(records, live, r.options)
	if r.yes {
		steps, err = r.create(ctx, c, steps)
	}
	if err != nil {
		return err
	}
	if err := r.print(ctx, steps); err != nil {
		return err
	}
	if found.Failed > 0 || restore.Count(steps) < len(steps) {
		return errFindings
	}
	return nil
}

// records reads what to restore: the objects of records with their dependents, or single dependents.
func (r *archiveRestore) records(ctx context.Context, from *openArchive, entries []archive.Entry) (all []restore.Record, err error) {
	err = r.read(ctx, from, entries, func(c archive.Content) error {
		found, err := c.ToRestore(from.Name)
		all = append(all, found...)
		return err
	})
	return all, err
}

// print prints the plan or, with --yes, what was created.
func (r *archiveRestore) print(ctx context.Context, steps []*restore.Step) error {
	if r.diff {
		return r.showDifferences(ctx, steps)
	}
	var objects []any
	var names []*metav1.PartialObjectMetadata
	for _, s := range steps {
		if s.Object != nil {
			objects = append(objects, s.Object)
			names = append(names, nameOf(s.Ref.GroupVersion().String(), s.Ref.Kind, s.Ref.Name))
		}
	}
	text := restore.Text{Steps: steps, Created: r.yes}
	if r.output.printer != nil { // the objects, and what is not restored
		text.OnlyRefused = true
		if err := text.Write(r.streams.ErrOut); err != nil || len(objects) == 0 {
			return err
		}
	}
	return r.output.print(r.streams.Out, listOf(objects), text.Write, names...)
}

func (r *archiveRestore) showDifferences(ctx context.Context, steps []*restore.Step) error {
	compared, err := newComparison()
	if err != nil {
		return err
	}
	defer compared.remove()
	for _, s := range steps {
		if s.Object == nil {
			continue
		}
		if err := compared.add(runtime.DeepCopyJSON(s.Archived), s.Object); err != nil {
			return err
		}
	}
	if err := (restore.Text{Steps: steps, OnlyRefused: true}).Write(r.streams.ErrOut); err != nil {
		return err
	}
	if err := compared.run(ctx, r.streams); err != errFindings { // every restored object differs from the archived one
		return err
	}
	return nil
}
