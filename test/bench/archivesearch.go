// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/command"
	"github.com/sunset-k8s/sunset/controllers/archives/store"
	"github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
)

const (
	searchDays = 30 // over which the records of scenario archive-search are spread
	flushAfter = 4  // segments, until the index is written again
)

// archiveSearch measures kubectl sunset archive with an archive of many records in a directory, without a control plane.
func (l *environment) archiveSearch(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "sunset-archive-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s := &searched{n: l.size.archived, namespaces: l.size.namespaces, first: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -searchDays), url: "file://" + dir}
	began := time.Now()
	if err := s.write(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	size, err := bytesIn(dir)
	if err != nil {
		return err
	}
	index, err := bytesIn(filepath.Join(dir, "index"))
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("an archive of %d small Jobs in %d namespaces and %d days, written", s.n, s.namespaces, searchDays), perSecond(s.n, took),
		fmt.Sprintf("%s, of which the index has %s", megabytes(size), megabytes(index)))
	one := s.job(s.n / 2)
	day := s.at(s.n / 2).Truncate(24 * time.Hour)
	between := []string{"--since", day.Format(time.RFC3339), "--until", day.AddDate(0, 0, 1).Format(time.RFC3339)}
	for _, search := range []struct {
		what string
		args []string
	}{
		{"archive ls by name", []string{"ls", "job/" + one.Name}},
		{"archive ls by namespace and day", append([]string{"ls", "-n", one.Namespace}, between...)},
		{"archive ls by namespace", []string{"ls", "-n", one.Namespace}},
		{"archive ls by UID", []string{"ls", "--uid", string(one.UID)}},
		{"archive ls by an expression", []string{"ls", "--cel", fmt.Sprintf("record.uid == %q", one.UID)}},
		{"archive get by name", []string{"get", "job/" + one.Name}},
	} {
		if err := l.addSearch(ctx, search.what, append([]string{"archive", "--url", s.url}, search.args...)); err != nil {
			return fmt.Errorf("%s: %w", search.what, err)
		}
	}
	return nil
}

// searched is an archive to search.
type searched struct {
	n, namespaces int
	first         time.Time // of the records
	url           string
}

// at returns when a record was made.
func (s *searched) at(i int) time.Time {
	return s.first.Add(time.Duration(i) * (searchDays * 24 * time.Hour / time.Duration(s.n)))
}

// job returns the object of a record.
func (s *searched) job(i int) audit.Object {
	return audit.Object{APIVersion: "batch/v1", Kind: "Job", Namespace: fmt.Sprintf("team-%04d", i%s.namespaces), Name: fmt.Sprintf("job-%07d", i),
		UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i)*2654435761, i)), ResourceVersion: fmt.Sprint(1_000_000 + i)}
}

// record returns a record.
func (s *searched) record(i int) archive.Record {
	o, at := s.job(i), s.at(i)
	return archive.Record{ArchivedAt: at, Policy: "jobs", PolicyUID: "5e1d0000-0000-4000-8000-000000000000", Rule: "finished", Due: at, Reason: "Expired",
		Object: fmt.Appendf(nil, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q,`+
			`"labels":{"app":"report","team":%[2]q}},"spec":{"completions":1,"parallelism":1},"status":{"completionTime":%[5]q,"succeeded":1}}`,
			o.Name, o.Namespace, o.UID, o.ResourceVersion, at.AddDate(0, 0, -1).Format(time.RFC3339))}
}

// write writes the archive as the controller does, except that a flush of the index has the results of more deletions.
func (s *searched) write(ctx context.Context) error {
	bucket, err := store.Open(ctx, s.url, nil)
	if err != nil {
		return err
	}
	defer func() { _ = bucket.Close() }()
	w := searchWriter{bucket: bucket, builder: archive.NewBuilder(), indexer: archive.NewIndexer(bucket)}
	for i := range s.n {
		if _, err := w.builder.Add(s.job(i), s.record(i)); err != nil {
			return err
		}
		last := i == s.n-1
		if w.builder.Full() || last || s.at(i).Day() != s.at(i+1).Day() {
			if err := w.seal(ctx, s.at(i), last); err != nil {
				return err
			}
		}
	}
	return nil
}

type searchWriter struct {
	bucket   archive.Bucket
	builder  *archive.Builder
	indexer  *archive.Indexer
	segments int
}

// seal writes the segment, and the index after some segments or the last one.
func (w *searchWriter) seal(ctx context.Context, at time.Time, last bool) error {
	segment, err := w.builder.Seal(at)
	if err != nil {
		return err
	}
	if err := w.bucket.Write(ctx, segment.Name, segment.Data); err != nil {
		return err
	}
	w.indexer.Add(segment)
	for line := range segment.Meta {
		w.indexer.Finish(segment.Name, line, archive.Deleted, at.Add(time.Second))
	}
	if w.segments++; w.segments%flushAfter != 0 && !last {
		return nil
	}
	return w.indexer.Flush(ctx, at)
}

// addSearch adds the median time of a command, what it reads and the most memory of its heap.
func (l *environment) addSearch(ctx context.Context, what string, args []string) error {
	var took []time.Duration
	var read, heap int64
	var out countedLines
	for range l.size.searches {
		debug.FreeOSMemory()
		out = 0
		before, err := bytesRead()
		if err != nil {
			return err
		}
		stop := peakHeap()
		began := time.Now()
		code := command.Run(ctx, args, genericiooptions.IOStreams{In: os.Stdin, Out: &out, ErrOut: os.Stderr}, began)
		took = append(took, time.Since(began))
		heap = max(heap, stop())
		if code != 0 {
			return fmt.Errorf("kubectl sunset %q ended with code %d", args, code)
		}
		after, err := bytesRead()
		if err != nil {
			return err
		}
		read = after - before
	}
	slices.Sort(took)
	l.table.add(what, milliseconds(took[len(took)/2]), fmt.Sprintf("%d lines; %s read, heap of at most %s", out, megabytes(read), megabytes(heap)))
	return nil
}

// countedLines counts the lines that are written.
type countedLines int

func (n *countedLines) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			*n++
		}
	}
	return len(p), nil
}

// peakHeap watches the objects in the heap until the caller stops it, and then returns the most bytes.
func peakHeap() (stop func() int64) {
	runtime.GC()
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		sample, most := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}, uint64(0)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-done:
				peak <- int64(most)
				return
			}
		}
	}()
	return func() int64 { close(done); return <-peak }
}

// bytesRead returns how many bytes this process has read so far.
func bytesRead() (int64, error) {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	match := regexp.MustCompile(`rchar: (\d+)`).FindSubmatch(data)
	if match == nil {
		return 0, fmt.Errorf("/proc/self/io has no rchar: %q", data)
	}
	return strconv.ParseInt(string(match[1]), 10, 64)
}
