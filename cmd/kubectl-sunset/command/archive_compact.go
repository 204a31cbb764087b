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

func newArchiveCompact(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	s, to := &archiveSource{streams: streams}, ""
	c := &cobra.Command{
		Use:     "compact [--to URL] [--archive NAME | --url URL]",
		Short:   "Copy records into Parquet files, for query engines",
		Long:    archiveCompactHelp,
		Example: archiveCompactExamples,
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&to, "to", "", "URL for the Parquet files; the default is the archive itself, if it is not encrypted")
	return s.addSource(c, func(ctx context.Context, from *openArchive, _ []string) error {
		progress := terminal.StartProgress(streams.ErrOut, "records copied")
		defer progress.Stop()
		copies := &compact.Compactor{From: from.Reader, To: from.Bucket, Progress: progress.Set}
		if to != "" {
			other, err := store.Open(ctx, to, nil)
			if err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			defer func() { _ = other.Close() }()
			copies.To = other
		}
		files, err := copies.Run(ctx, now)
		progress.Stop()
		for _, name := range files {
			fmt.Fprintln(streams.Out, name)
		}
		fmt.Fprintf(streams.ErrOut, "%s copied into %s.\n", preview.Count(copies.Records, "record"), preview.Count(len(files), "file"))
		return err
	}, cobra.NoFileCompletions)
}
