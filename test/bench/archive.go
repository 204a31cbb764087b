// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/stores"
)

const (
	archiveName = "bench"
	// archiveFields let a policy whose last lines are a rule archive what it deletes.
	archiveFields = "    archive: {to: " + archiveName + "}\n"
)

// archiveDrain measures the cost of an archive in an S3 server beside Sunset: the drain of a backlog with and without it. A policy with
// an archive has a ledger, and the one without has none.
func (l *environment) archiveDrain(ctx context.Context) error {
	return l.besideStore(ctx, l.archiveDrains)
}

// archiveLate is archiveDrain for scheduled deletions.
func (l *environment) archiveLate(ctx context.Context) error {
	return l.besideStore(ctx, func(ctx context.Context, _ *stores.Store) error { return l.besideStanding(ctx, l.archiveLateness) })
}

// besideStore runs a measurement with a RetentionArchive in an S3 server, and then deletes it.
func (l *environment) besideStore(ctx context.Context, measure func(context.Context, *stores.Store) error) error {
	s, err := stores.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "archive"}, Data: s.Credentials}
	archive := &v1alpha1.RetentionArchive{
		ObjectMeta: objectMeta(archiveName),
		Spec:       v1alpha1.ArchiveSpec{URL: s.URL("cluster"), Credentials: &v1alpha1.SecretReference{Namespace: keys.Namespace, Name: keys.Name}},
	}
	for _, o := range []client.Object{keys, archive} {
		if err := l.policy.Create(ctx, o); err != nil {
			return err
		}
	}
	err = measure(ctx, s)
	return errors.Join(err, l.policy.Delete(ctx, archive), l.policy.Delete(ctx, keys))
}

func (l *environment) archiveLateness(ctx context.Context) error {
	plain, archived, err := l.latenessBeside(ctx, "archived", archiveFields)
	if err != nil {
		return err
	}
	more := percentile(archived, 0.99) - percentile(plain, 0.99)
	l.table.add(fmt.Sprintf("with an archive, lateness at 100 due a second, %d watched", l.size.standing), waits(archived).text(),
		fmt.Sprintf("p99 %s more than at the same time 100 a second without: %s", milliseconds(more), waits(plain).text()))
	return nil
}

// archiveDrains lets Sunset drain the same backlog with and without an archive, in turns.
func (l *environment) archiveDrains(ctx context.Context, s *stores.Store) error {
	plain, archived, err := l.drainsBeside(ctx, archiveFields)
	if err != nil {
		return err
	}
	n := l.size.drain
	took := func(r drainRun) time.Duration { return r.took }
	calls := func(r drainRun) float64 { return r.calls + r.lists }
	peak := func(r drainRun) int64 { return r.peak }
	own := func(r drainRun) time.Duration { return r.cpu }
	l.table.add(fmt.Sprintf("Sunset with an archive, %d Jobs due", n), perSecond(n, median(archived, took)),
		fmt.Sprintf("%d %% of without, in the median round; rounds: %s, without: %s", shareOf(plain, archived), rates(n, archived), rates(n, plain)))
	l.table.add("with an archive, API calls for each deletion", fmt.Sprintf("%.3f", median(archived, calls)),
		fmt.Sprintf("its ledger and listings included; without %.3f", median(plain, calls)))
	l.table.add("with an archive, Sunset's CPU for each deletion", fmt.Sprintf("%.2f ms", float64(median(archived, own))/float64(n)/1e6),
		fmt.Sprintf("without %.2f ms", float64(median(plain, own))/float64(n)/1e6))
	l.table.add("with an archive, most memory of Sunset in a drain", megabytes(median(archived, peak)),
		fmt.Sprintf("%s more than without", megabytes(median(archived, peak)-median(plain, peak))))
	segments, err := bytesIn(filepath.Join(s.Dir, "cluster", "segments"))
	if err != nil {
		return err
	}
	index, err := bytesIn(filepath.Join(s.Dir, "cluster", "index"))
	if err != nil {
		return err
	}
	each := float64(segments+index) / float64(n*len(archived))
	if each == 0 {
		return errors.New("the drains have left nothing in the store")
	}
	l.table.add("bytes in the store for each Job", fmt.Sprintf("%.0f B", each),
		fmt.Sprintf("%.0f MB for 1,000,000 Jobs; index %.0f B a Job", each, float64(index)/float64(n*len(archived))))
	return nil
}

// bytesIn returns the size of all files below a directory.
func bytesIn(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, ".jsonl.zst") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
