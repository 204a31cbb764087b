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
	return a.complete(c, func(_ context.Context, from *openArchive) error {
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

// namesOfEntries returns the objects for the format name.
func namesOfEntries(entries []archive.Entry) []*metav1.PartialObjectMetadata {
	names := make([]*metav1.PartialObjectMetadata, len(entries))
	for i, e := range entries {
		kind, name := e.Kind()
		names[i] = nameOf(kind.Group+"/", kind.Kind, name)
	}
	return names
}
