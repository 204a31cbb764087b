// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/who"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
)

// searchArchives searches the archive of the flags. Without these flags it searches all of the cluster, unless it reads files, and
// says which of them it cannot read. The search is then partial, unless the user has no permission to read the archive.
func (w *whoCommand) searchArchives(ctx context.Context, report *who.Report) error {
	switch {
	case w.url != "" || w.name != "":
		return explainArchive(w.searchArchive(ctx, &w.archiveSource, report))
	case len(w.files) > 0:
		return nil
	}
	c, err := w.connection.connect()
	if err != nil {
		return err
	}
	all, err := c.Archives(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range all {
		from := w.archiveSource
		from.name = all[i].Name
		if err := w.searchArchive(ctx, &from, report); errors.Is(err, context.Canceled) {
			return err
		} else if err != nil {
			notes{w.streams.ErrOut}.note("RetentionArchive %q not searched: %v", from.name, explainArchive(err))
			w.isPartial = w.isPartial || !isDenied(err)
		}
	}
	return nil
}

// isDenied reports whether the user has no permission to read an archive: its RetentionArchive, or its store.
func isDenied(err error) bool { return apierrors.IsForbidden(err) || store.IsDenied(err) }

func (w *whoCommand) searchArchive(ctx context.Context, source *archiveSource, report *who.Report) error {
	return source.open(ctx, func(from *openArchive) error {
		from.Bucket = countedBucket{from.Bucket, w.progress}
		selection := &archive.Selection{Objects: []archive.Object{{Kind: from.kind(report.Object.Kind), Name: report.Object.Name}}}
		if report.Object.Namespace != "" {
			selection.Namespace = &report.Object.Namespace
		}
		from.Skip = from.unread.add
		found, err := selection.Find(ctx, from.Reader)
		if err == nil && len(found) == 0 {
			err = from.unread.encrypted()
		}
		if err != nil {
			return fmt.Errorf("search archive %s: %w", from.Name, err)
		}
		w.isPartial = from.unread.warn(w.streams.ErrOut, from.Name, nil) != nil || w.isPartial
		for _, e := range found {
			report.AddArchived(e, from.Name)
		}
		return nil
	})
}
