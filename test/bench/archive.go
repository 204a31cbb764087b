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

// archiveDrain measures the cost of an archive in an S3 server beside Sunset: the drain of a backlog with it, without it, and with only
// the ledger that each policy with an archive has.
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
		ObjectMeta: metav1.ObjectMeta{Name: archiveName},
		Spec:       v1alpha1.ArchiveSpec{URL: s.URL("cluster"), Credentials: &v1alpha1.SecretReference{Namespace: keys.Namespace, Name: keys.Name}},
	}
	for _, o := range []client.Object{keys, archive} {
		if err := l.policy.Create(ctx, o); err != nil {
			return err
		}
	}
	l.store = s.PID()
	defer func() { l.store = 0 }()
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

// archiveDrains lets Sunset drain the same backlog without an archive, with a ledger, and with an archive, in turns.
func (l *environment) archiveDrains(ctx context.Context, s *stores.Store) error {
	runs, err := l.drainsBeside(ctx, "", ledgerFields, archiveFields)
	if err != nil {
		return err
	}
	plain, counted, archived, n := runs[0], runs[1], runs[2], l.size.drain
	took := func(r drainRun) time.Duration { return r.took }
	calls := func(r drainRun) float64 { return r.calls + r.lists }
	peak := func(r drainRun) int64 { return r.peak }
	own := func(r drainRun) time.Duration { return r.cpu }
	server := func(r drainRun) time.Duration { return r.server }
	store := func(r drainRun) time.Duration { return r.store }
	each := func(runs []drainRun, of func(drainRun) time.Duration) string {
		return fmt.Sprintf("%.2f ms", float64(median(runs, of))/float64(n)/1e6)
	}
	l.table.add(fmt.Sprintf("Sunset with an archive, %d Jobs due", n), perSecond(n, median(archived, took)),
		fmt.Sprintf("%d %% of without and %d %% of with a ledger, in the median round; rounds: %s, without: %s, with a ledger: %s",
			shareOf(plain, archived), shareOf(counted, archived), rates(n, archived), rates(n, plain), rates(n, counted)))
	l.table.add("with an archive, API calls for each deletion", fmt.Sprintf("%.3f", median(archived, calls)),
		fmt.Sprintf("its listings included, and one write of its ledger for %.0f deletions; without %.3f", perWrite(n, archived), median(plain, calls)))
	l.table.add("with an archive, Sunset's CPU for each deletion", each(archived, own),
		fmt.Sprintf("without %s, with a ledger %s", each(plain, own), each(counted, own)))
	l.table.add("with an archive, CPU of API server and etcd for each deletion", each(archived, server),
		fmt.Sprintf("without %s, with a ledger %s; the S3 server %s", each(plain, server), each(counted, server), each(archived, store)))
	elsewhere := func(r drainRun) time.Duration { return r.used() - r.store }
	l.table.add("with an archive, CPU of all of them for each deletion", each(archived, drainRun.used),
		fmt.Sprintf("without %s, with a ledger %s; if the S3 server had cores of its own, at most %d %% of the rate without",
			each(plain, drainRun.used), each(counted, drainRun.used), 100*median(plain, drainRun.used)/median(archived, elsewhere)))
	l.table.add("with an archive, most memory of Sunset in a drain", megabytes(median(archived, peak)),
		fmt.Sprintf("%s more than without, %s more than with a ledger", megabytes(median(archived, peak)-median(plain, peak)), megabytes(median(archived, peak)-median(counted, peak))))
	segments, err := bytesIn(filepath.Join(s.Dir, "cluster", "segments"))
	if err != nil {
		return err
	}
	index, err := bytesIn(filepath.Join(s.Dir, "cluster", "index"))
	if err != nil {
		return err
	}
	size := float64(segments+index) / float64(n*len(archived))
	if size == 0 {
		return errors.New("the drains have left nothing in the store")
	}
	l.table.add("bytes in the store for each Job", fmt.Sprintf("%.0f B", size),
		fmt.Sprintf("%.0f MB for 1,000,000 Jobs; index %.0f B a Job", size, float64(index)/float64(n*len(archived))))
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
