// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
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
		Use:     "get (KIND[/NAME] | KIND NAME)... [-n NAMESPACE] [--archive NAME | --url URL]",
		Short:   "Print archived objects",
		Long:    archiveGetHelp,
		Example: archiveGetExamples,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return explainArchive(g.run(c.Context(), args)) },
	}
	c.Flags().BoolVar(&g.record, "record", false, "print the whole records: with dependents, Events, logs, and why the objects were deleted")
	g.addSelection(c)
	g.output.add(c, asNames)
	g.addConnection(c)
	return c
}

func (g *archiveGet) run(ctx context.Context, args []string) error {
	from, err := g.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := g.find(ctx, from, args)
	if err != nil {
		return err
	}
	var documents []any
	var names []*metav1.PartialObjectMetadata
	err = g.read(ctx, from, found.Records, func(content archive.Content) error {
		kind, name := content.Kind()
		names = append(names, nameOf(kind.Group+"/", kind.Kind, name))
		if g.record {
			documents = append(documents, content.Document())
			return nil
		}
		object, err := content.Manifest()
		documents = append(documents, object)
		return err
	})
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		g.noRecords(from)
		return errFindings
	}
	if err := g.output.print(g.streams.Out, listOf(documents), func(w io.Writer) error { return writeYAML(w, documents) }, names...); err != nil {
		return err
	}
	if found.Failed > 0 {
		return errFindings
	}
	return nil
}

// listOf returns the only document, or a List of several, as kubectl get.
func listOf(documents []any) any {
	if len(documents) == 1 {
		return documents[0]
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
}

// writeYAML writes documents as a stream of YAML.
func writeYAML(w io.Writer, documents []any) error {
	p := &printers.YAMLPrinter{}
	for _, document := range documents {
		var encoded bytes.Buffer
		e := json.NewEncoder(&encoded)
		e.SetEscapeHTML(false)
		if err := e.Encode(document); err != nil {
			return err
		}
		if err := p.PrintObj(&runtime.Unknown{Raw: bytes.TrimSpace(encoded.Bytes())}, w); err != nil {
			return err
		}
	}
	return nil
}

// archiveLogs is the command archive logs.
type archiveLogs struct {
	*archiveCommand
	options archive.LogsOptions
}

func newArchiveLogs(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	l := &archiveLogs{archiveCommand: newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "logs (KIND[/NAME] | KIND NAME)... [-c CONTAINER] [-n NAMESPACE] [--archive NAME | --url URL]",
		Short:   "Print the archived logs of containers",
		Long:    archiveLogsHelp,
		Example: archiveLogsExamples,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return explainArchive(l.run(c.Context(), args)) },
	}
	c.Flags().StringVarP(&l.options.Container, "container", "c", "", "only the logs of this container")
	c.Flags().BoolVarP(&l.options.Previous, "previous", "p", false, "the logs of the previous instances of the containers")
	l.addSelection(c)
	l.addConnection(c)
	return c
}

func (l *archiveLogs) run(ctx context.Context, args []string) error {
	from, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	found, err := l.find(ctx, from, args)
	if err != nil {
		return err
	}
	if len(found.Records) == 0 {
		l.noRecords(from)
		return errFindings
	}
	var contents []archive.Content
	logs := 0
	if err := l.read(ctx, from, found.Records, func(c archive.Content) error {
		contents, logs = append(contents, c), logs+len(c.Logs(l.options))
		return nil
	}); err != nil {
		return err
	}
	for _, c := range contents {
		if err := archive.WriteLogs(l.streams.Out, l.streams.ErrOut, c.Logs(l.options), logs > 1); err != nil {
			return err
		}
	}
	if logs == 0 {
		notes{l.streams.ErrOut}.note("the records have no such logs; rules archive them with archive.logs")
		return errFindings
	}
	return nil
}
