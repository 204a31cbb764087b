// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/compact"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
)

// archiveCompact is the command archive compact.
type archiveCompact struct {
	archiveSource
	now time.Time
	to  string
}

func newArchiveCompact(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	p := &archiveCompact{archiveSource: archiveSource{streams: streams}, now: now}
	c := &cobra.Command{
		Use:     "compact [--to URL] [--archive NAME | --url URL]",
		Short:   "Copy records into Parquet files, for query engines",
		Long:    archiveCompactHelp,
		Example: archiveCompactExamples,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return explainArchive(p.run(c.Context())) },
	}
	c.Flags().StringVar(&p.to, "to", "", "URL for the Parquet files; the default is the archive itself, if it is not encrypted")
	p.addSource(c)
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
	}
	progress, n := terminal.StartProgress(p.streams.ErrOut, "records copied"), 0
	defer progress.Stop()
	c := &compact.Compactor{From: from.Reader, To: to, Progress: func(records int) { n = records; progress.Set(n) }}
	files, err := c.Run(ctx, p.now)
	progress.Stop()
	for _, name := range files {
		fmt.Fprintln(p.streams.Out, name)
	}
	fmt.Fprintf(p.streams.ErrOut, "%s copied into %s.\n", preview.Count(n, "record"), preview.Count(len(files), "file"))
	return err
}
