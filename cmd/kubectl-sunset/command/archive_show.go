// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

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

func newArchiveGet(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	a, output, whole := newArchiveCommand(streams, now), &outputFlags{}, false
	c := &cobra.Command{
		Use:     "get (KIND[/NAME] | KIND NAME)...",
		Short:   "Print archived objects",
		Long:    archiveGetHelp,
		Example: archiveGetExamples,
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&whole, "record", false, "print the whole records: with dependents, Events, logs, and why the objects were deleted")
	output.add(c, asNames)
	return a.complete(c, func(ctx context.Context, from *openArchive) error {
		if whole { // once, also for several objects in it
			from.entries = slices.CompactFunc(from.entries, func(a, b archive.Entry) bool { return a.Place() == b.Place() })
		}
		var documents []any
		err := a.read(ctx, from, func(content archive.Content) error {
			if whole {
				documents = append(documents, content.Document())
				return nil
			}
			object, err := content.Manifest()
			if err == nil {
				documents = append(documents, object.Object)
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case len(documents) == 0: // none could be read
			return errFindings
		}
		if output.printer == nil {
			output.printer = &printers.YAMLPrinter{}
		}
		return output.print(streams.Out, listOf(documents), nil, namesOfEntries(from.entries)...)
	})
}

// listOf returns the only document, or a List of several, as kubectl get.
func listOf(documents []any) any {
	if len(documents) == 1 {
		return documents[0]
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
}

func newArchiveLogs(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	a, w := newArchiveCommand(streams, now), &archive.LogWriter{Out: streams.Out, Notes: streams.ErrOut}
	a.prints = true
	c := &cobra.Command{
		Use:     "logs (KIND[/NAME] | KIND NAME)... [-c CONTAINER]",
		Short:   "Print the archived logs of containers",
		Long:    archiveLogsHelp,
		Example: archiveLogsExamples,
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().StringVarP(&w.Container, "container", "c", "", "only the logs of this container")
	return a.complete(c, func(ctx context.Context, from *openArchive) error {
		switch err := cmp.Or(a.read(ctx, from, w.Add), w.Flush()); {
		case err != nil:
			return err
		case w.N == 0:
			notes{streams.ErrOut}.note("the records have no such logs; rules archive them with archive.logs")
		case !w.HasText:
			notes{streams.ErrOut}.note("the archive has no text of these logs")
		default:
			return nil
		}
		return errFindings
	})
}
