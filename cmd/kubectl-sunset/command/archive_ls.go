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
		Short:   "List archived objects",
		Long:    archiveLsHelp,
		Example: archiveLsExamples,
	}
	l.output.add(c, asNames, asWide, asHTML)
	return l.complete(c, l.run)
}

func (l *archiveLs) run(_ context.Context, from *selected) error {
	list := archive.NewList(from.Name, from.entries)
	switch {
	case l.output.is(asHTML):
		return report.Write(l.streams.Out, report.OfArchive(list, l.now))
	case len(from.entries) == 0 && l.output.printer == nil:
		return nil
	}
	names := make([]*metav1.PartialObjectMetadata, len(from.entries))
	for i, e := range from.entries {
		kind, name := e.Kind()
		names[i] = nameOf(kind.Group+"/", kind.Kind, name)
	}
	return l.output.print(l.streams.Out, list, func(w io.Writer) error { return list.WriteText(w, l.output.is(asWide), l.now) }, names...)
}

func newArchiveVerify(streams genericiooptions.IOStreams, _ time.Time) *cobra.Command {
	s := &archiveSource{streams: streams}
	c := &cobra.Command{
		Use:     "verify [--archive NAME | --url URL]",
		Short:   "Check that an archive is complete and undamaged",
		Long:    archiveVerifyHelp,
		Example: archiveVerifyExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return explainArchive(s.verify(c.Context())) },
	}
	s.addSource(c)
	return c
}

func (s *archiveSource) verify(ctx context.Context) error {
	from, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	progress := terminal.StartProgress(s.streams.ErrOut, "objects of the archive verified")
	defer progress.Stop()
	found, err := from.Verify(ctx, progress.Set)
	if err != nil {
		return err
	}
	progress.Stop()
	if err := archive.WriteVerification(s.streams.Out, from.Name, found); err != nil || found.OK() {
		return err
	}
	return errFindings
}
