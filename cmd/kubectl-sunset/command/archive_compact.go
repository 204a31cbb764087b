// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/compact"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	records "github.com/sunset-k8s/sunset/policy/archive"
)

// archiveCompact is the command archive compact.
type archiveCompact struct {
	*archiveCommand
	to string
}

func newArchiveCompact(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	p := &archiveCompact{archiveCommand: newArchiveCommand(streams, now)}
	c := &cobra.Command{
		Use:     "compact [--to URL] [--archive NAME | --url URL]",
		Short:   "Copy records into Parquet files, for query engines",
		Long:    archiveCompactHelp,
		Example: archiveCompactExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return explainArchive(p.run(c.Context())) },
	}
	c.Flags().StringVar(&p.to, "to", "", "URL for the Parquet files; the default is the archive itself, if it is not encrypted")
	p.addTimes(c)
	p.addConnection(c)
	c.ValidArgsFunction = cobra.NoFileCompletions
	return c
}

func (p *archiveCompact) run(ctx context.Context) error {
	from, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	to := from.store
	if p.to != "" {
		if to, err = store.Open(ctx, p.to, nil); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		defer func() { _ = to.Close() }()
	} else if err := p.mayCopyInto(ctx, from); err != nil {
		return err
	}
	progress := terminal.StartProgress(p.streams.ErrOut, "records copied")
	defer progress.Stop()
	c := &compact.Compactor{From: from.Reader, To: to, Progress: progress.Set}
	result, err := c.Run(ctx, p.since.time, p.until.time, p.now)
	progress.Stop()
	for _, name := range result.Files {
		fmt.Fprintln(p.streams.Out, name)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.streams.ErrOut, "%s of %s copied into %s.\n", preview.Count(result.Records, "record"), preview.Count(result.Days, "day"), preview.Count(len(result.Files), "file"))
	return nil
}

// mayCopyInto returns an error if the archive is encrypted: Parquet files are not.
func (p *archiveCompact) mayCopyInto(ctx context.Context, from *openArchive) error {
	for e, err := range from.Bucket.List(ctx, records.SegmentPrefix) {
		if err != nil {
			return err
		}
		if isEncrypted(e.Name) {
			return errors.New("the archive is encrypted, and Parquet files are not: choose where they may be, with --to URL")
		}
	}
	return nil
}
