// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
)

// archiveLs is the command archive ls.
type archiveLs struct {
	*archiveCommand
	output outputFlags
}

func newArchiveLs(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	l := &archiveLs{archiveCommand: newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "ls [KIND[/NAME] | KIND NAME]... [-n NAMESPACE] [--archive NAME | --url URL]",
		Aliases: []string{"list"},
		Short:   "List archived objects",
		Long:    archiveLsHelp,
		Example: archiveLsExamples,
		RunE:    func(c *cobra.Command, args []string) error { return explainArchive(l.run(c.Context(), args)) },
	}
	l.addSelection(c)
	l.output.add(c, asNames, asWide, asHTML)
	l.addConnection(c)
	return c
}

func (l *archiveLs) run(ctx context.Context, args []string) error {
	from, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := l.find(ctx, from, args)
	if err != nil {
		return err
	}
	list := archive.NewList(from.Name, found.Records)
	names := make([]*metav1.PartialObjectMetadata, len(list.Items))
	for i, o := range list.Items {
		names[i] = nameOf(o.Group+"/", o.Kind, o.Name)
	}
	switch {
	case l.output.is(asHTML):
		err = report.Write(l.streams.Out, list.Page(l.now))
	case len(list.Items) == 0 && l.output.printer == nil:
		l.noRecords(from)
	default:
		err = l.output.print(l.streams.Out, list, func(w io.Writer) error { return list.WriteText(w, l.output.is(asWide), l.now) }, names...)
	}
	if err == nil && found.Failed > 0 {
		return errFindings
	}
	return err
}

// archiveVerify is the command archive verify.
type archiveVerify struct {
	*archiveCommand
	output outputFlags
}

func newArchiveVerify(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	v := &archiveVerify{archiveCommand: newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "verify [--archive NAME | --url URL]",
		Short:   "Check that an archive is complete and undamaged",
		Long:    archiveVerifyHelp,
		Example: archiveVerifyExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return explainArchive(v.run(c.Context())) },
	}
	v.output.add(c)
	v.addConnection(c)
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func (v *archiveVerify) run(ctx context.Context) error {
	from, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	progress := terminal.StartProgress(v.streams.ErrOut, "objects of the archive verified")
	defer progress.Stop()
	found, err := from.Verify(ctx, progress.Set)
	if err != nil {
		return err
	}
	progress.Stop()
	result := archive.NewVerification(from.Name, found)
	if err := v.output.print(v.streams.Out, result, result.WriteText); err != nil {
		return err
	}
	if !result.Intact {
		return errFindings
	}
	return nil
}
