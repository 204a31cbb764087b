// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	records "github.com/sunset-k8s/sunset/policy/archive"
)

// archiveGet is the command archive get.
type archiveGet struct {
	*archiveCommand
	record bool
	output outputFlags
}

func newArchiveGet(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	g := &archiveGet{archiveCommand: newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "get (KIND[/NAME] | KIND NAME)...",
		Short:   "Print archived objects",
		Long:    archiveGetHelp,
		Example: archiveGetExamples,
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().BoolVar(&g.record, "record", false, "print the whole records: with dependents, Events, logs, and why the objects were deleted")
	g.output.add(c, asNames)
	return g.complete(c, g.run)
}

func (g *archiveGet) run(ctx context.Context, from *selected) error {
	var documents []any
	err := g.read(ctx, from, func(content archive.Content) error {
		if g.record {
			documents = append(documents, content.Document())
			return nil
		}
		object, err := content.Manifest()
		if err == nil {
			documents = append(documents, object.Object)
		}
		return err
	})
	if err != nil {
		return err
	}
	if g.output.printer == nil {
		g.output.printer = &printers.YAMLPrinter{}
	}
	return g.output.print(g.streams.Out, listOf(documents), nil, namesOfEntries(from.entries)...)
}

// listOf returns the only document, or a List of several, as kubectl get.
func listOf(documents []any) any {
	if len(documents) == 1 {
		return documents[0]
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
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

// archiveLogs is the command archive logs.
type archiveLogs struct {
	*archiveCommand
	container string
}

func newArchiveLogs(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	l := &archiveLogs{archiveCommand: newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "logs (KIND[/NAME] | KIND NAME)... [-c CONTAINER]",
		Short:   "Print the archived logs of containers",
		Long:    archiveLogsHelp,
		Example: archiveLogsExamples,
		Args:    cobra.MinimumNArgs(1),
	}
	c.Flags().StringVarP(&l.container, "container", "c", "", "only the logs of this container")
	return l.complete(c, l.run)
}

func (l *archiveLogs) run(ctx context.Context, from *selected) error {
	var logs []records.Log
	err := l.read(ctx, from, func(c archive.Content) error {
		logs = append(logs, c.Logs(l.container)...)
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(logs) == 0:
		notes{l.streams.ErrOut}.note("the records have no such logs; rules archive them with archive.logs")
		return errFindings
	}
	return archive.WriteLogs(l.streams.Out, l.streams.ErrOut, logs)
}
