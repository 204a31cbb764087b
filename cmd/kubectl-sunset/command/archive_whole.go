// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive/compact"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/terminal"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	records "github.com/sunset-k8s/sunset/policy/archive"
)

func newArchiveVerify(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	s := &archiveSource{streams: streams}
	return s.addSource(&cobra.Command{
		Use:     "verify",
		Short:   "Check that an archive is complete and undamaged",
		Long:    archiveVerifyHelp,
		Example: archiveVerifyExamples,
		Args:    cobra.NoArgs,
	}, nil, func(ctx context.Context, from *openArchive, _ []string) error {
		progress := terminal.StartProgress(streams.ErrOut, "objects of the archive verified")
		found, err := from.Verify(ctx, from.retention, now, progress.Set)
		progress.Stop()
		if err != nil {
			return err
		}
		if err := writeVerification(streams.Out, from.Name, found, from.retention); err != nil || found.OK() {
			return err
		}
		return errFindings
	})
}

// writeVerification writes the result of verify: the numbers, and what is wrong. name names the archive, and keep is what
// Verify got.
func writeVerification(w io.Writer, name string, v records.Verification, keep records.Retention) error {
	style := text.StyleOf(w)
	fmt.Fprintf(w, "%s, %s, %s, %d bytes\n", preview.Count(v.Segments, "segment"), preview.Count(v.Records, "record"), preview.Count(v.IndexObjects, "index object"), v.Bytes)
	for _, problem := range v.Damaged {
		fmt.Fprintf(w, "%s %s\n", style.Bad("damaged:"), text.Escape(problem.Error()))
	}
	for _, segment := range v.Missing {
		fmt.Fprintf(w, "%s segment %q: the index has its records, but the store does not have it; restore it from a copy of the bucket\n", style.Bad("missing:"), segment)
	}
	if v.Expired > 0 {
		fmt.Fprintf(w, "%s expired, or older than all others, and not in the store; the index still has their records\n", preview.Count(v.Expired, "segment"))
	}
	if n := len(v.NotIndexed); n > 0 {
		fmt.Fprintf(w, "%s not in the index, as after a crash; searches read them whole\n", preview.Count(n, "segment"))
	}
	if n := len(v.Unrelated); n > 0 {
		fmt.Fprintf(w, "%s not part of the archive, such as %q\n", preview.Count(n, "object"), v.Unrelated[0])
	}
	unknown := ""
	if v.Expired > 0 && keep.Retain == 0 {
		unknown += "; without spec.retain, it is not known whether segments that are older than all others have expired or are lost"
	}
	if v.Encrypted > 0 {
		unknown += fmt.Sprintf("; without their keys, only the digests of %s were checked", preview.Count(v.Encrypted, "object"))
	}
	if v.EncryptedIndex > 0 {
		unknown += fmt.Sprintf("; missing segments were not looked for in %s; use --identity FILE", preview.Count(v.EncryptedIndex, "index object"))
	}
	verdict := style.Good("intact")
	switch {
	case !v.OK():
		verdict = style.Bad(fmt.Sprintf("%d damaged, %d missing", len(v.Damaged), len(v.Missing))) + unknown
	case unknown != "":
		verdict = style.Good("no damage found") + unknown
	}
	_, err := fmt.Fprintf(w, "archive %s: %s\n", name, verdict)
	return err
}

func newArchiveCompact(streams genericiooptions.IOStreams, now time.Time) *cobra.Command {
	s, to := &archiveSource{streams: streams}, ""
	c := &cobra.Command{
		Use:     "compact [--to URL]",
		Short:   "Copy records into Parquet files, for query engines",
		Long:    archiveCompactHelp,
		Example: archiveCompactExamples,
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&to, "to", "", "URL for the Parquet files; the default is the archive itself, if it is not encrypted")
	return s.addSource(c, nil, func(ctx context.Context, from *openArchive, _ []string) error {
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
		for _, unread := range copies.Unread {
			fmt.Fprintln(streams.ErrOut, "error:", text.Escape(explainArchive(unread).Error()))
		}
		if err == nil && len(copies.Unread) > 0 {
			return errFindings
		}
		return err
	})
}
