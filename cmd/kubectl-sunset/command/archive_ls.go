// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
)

func newArchiveLs(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	a, output := newArchiveCommand(streams, now), &outputFlags{}
	c := &cobra.Command{
		Use:     "ls [KIND[/NAME] | KIND NAME]...",
		Short:   "List archived objects",
		Long:    archiveLsHelp,
		Example: archiveLsExamples,
	}
	output.add(c, asNames, asWide, asHTML)
	return a.complete(c, func(_ context.Context, from *selected) error {
		list := archive.NewList(from.Name, from.entries)
		switch {
		case output.is(asHTML):
			return report.Write(streams.Out, report.OfArchive(list, now))
		case len(from.entries) == 0 && output.printer == nil:
			return nil
		}
		return output.print(streams.Out, list, func(w io.Writer) error { return list.WriteText(w, output.is(asWide), now) }, namesOfEntries(from.entries)...)
	})
}

func newArchiveVerify(streams genericiooptions.IOStreams) *cobra.Command {
	s := &archiveSource{streams: streams}
	return s.addSource(&cobra.Command{
		Use:     "verify [--archive NAME | --url URL]",
		Short:   "Check that an archive is complete and undamaged",
		Long:    archiveVerifyHelp,
		Example: archiveVerifyExamples,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, from *openArchive, _ []string) error {
		progress := terminal.StartProgress(streams.ErrOut, "objects of the archive verified")
		found, err := from.Verify(ctx, progress.Set)
		progress.Stop()
		if err != nil {
			return err
		}
		if err := archive.WriteVerification(streams.Out, from.Name, found); err != nil || found.OK() {
			return err
		}
		return errFindings
	}, cobra.NoFileCompletions)
}
