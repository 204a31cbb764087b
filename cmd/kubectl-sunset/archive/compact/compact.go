// SPDX-License-Identifier: Apache-2.0

// Package compact copies the records of an archive into Parquet files, so that query engines such as DuckDB, Athena, BigQuery and
// Spark can read them.
//
// It copies whole days in UTC, and each day once. A file is written when it is complete, and read back. A day that a crash
// interrupted is completed by the next call. It needs the memory of one file and of the index of one day.
package compact

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// The limits of one file.
const (
	mostRows  = 100_000
	mostBytes = 64 << 20 // of records, before compression
)

// settled is how long after the end of a day the results of its records are known.
const settled = 2 * time.Hour

// Compactor copies records.
type Compactor struct {
	From     *archive.Reader
	To       archive.Bucket
	Progress func(records int) // called with the number of records that were copied; may be nil
	// RowsOfFile is the maximum number of rows of a file; 0 means 100,000.
	RowsOfFile int

	done int
}

// Result is what a Compactor has done.
type Result struct {
	Days    int      // that it copied
	Records int      // in the files that it wrote
	Files   []string // names of the files that it wrote
}

// Run copies the days from since to until that are over, and that it has not copied yet. Zero times are no limit.
func (c *Compactor) Run(ctx context.Context, since, until, now time.Time) (r Result, err error) {
	days, err := c.days(ctx, since, until)
	if err != nil {
		return r, err
	}
	copied, err := c.copied(ctx)
	if err != nil {
		return r, err
	}
	for _, day := range days {
		if day.AddDate(0, 0, 1).Add(settled).After(now) || copied[day].isComplete() {
			continue
		}
		files, err := c.day(ctx, day, copied[day])
		r.Files = append(r.Files, files...)
		r.Records = c.done
		if err != nil {
			return r, fmt.Errorf("day %s: %w", day.Format(time.DateOnly), err)
		}
		if len(files) > 0 {
			r.Days++
		}
	}
	return r, nil
}

// days returns the days that may have records, in order. A segment may have records of the day before it was written.
func (c *Compactor) days(ctx context.Context, since, until time.Time) ([]time.Time, error) {
	var days []time.Time
	for e, err := range c.From.Bucket.List(ctx, archive.SegmentPrefix) {
		if err != nil {
			return nil, err
		}
		day, ok := dayOfSegment(e.Name)
		if !ok {
			continue
		}
		for _, d := range []time.Time{day.AddDate(0, 0, -1), day} {
			isAfter := until.IsZero() || d.Before(until)
			if d.AddDate(0, 0, 1).After(since) && isAfter && !slices.Contains(days[max(0, len(days)-3):], d) {
				days = append(days, d)
			}
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	return slices.Compact(days), nil
}

// day copies one day, and deletes files that an interrupted copy of it has left, if they do not belong to this one.
func (c *Compactor) day(ctx context.Context, day time.Time, left parts) (files []string, err error) {
	metas, err := c.From.Find(ctx, archive.Query{Since: day, Until: day.AddDate(0, 0, 1)})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(metas, func(a, b archive.Meta) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
	split := splitRows(metas, cmp.Or(c.RowsOfFile, mostRows))
	for i, rows := range split {
		at := part{day: day, number: i + 1, of: len(split)}
		if _, isThere := left[at]; isThere {
			continue
		}
		data, err := c.file(ctx, rows)
		if err != nil {
			return files, err
		}
		name := at.name(data)
		if err := c.To.Write(ctx, name, data); err != nil {
			return files, err
		}
		files = append(files, name)
	}
	for at, name := range left {
		if at.of == len(split) {
			continue
		}
		if err := c.To.Delete(ctx, name); err != nil {
			return files, fmt.Errorf("delete what an interrupted copy has left: %w", err)
		}
	}
	return files, nil
}

// splitRows splits the records of a day into files.
func splitRows(metas []archive.Meta, most int) [][]archive.Meta {
	var split [][]archive.Meta
	first, size := 0, 0
	for i, m := range metas {
		if i > first && (size+m.Bytes > mostBytes || i-first == most) {
			split = append(split, metas[first:i])
			first, size = i, 0
		}
		size += m.Bytes
	}
	if first < len(metas) {
		split = append(split, metas[first:])
	}
	return split
}

// file returns a Parquet file with these records, and checks that it can be read.
func (c *Compactor) file(ctx context.Context, metas []archive.Meta) ([]byte, error) {
	var data bytes.Buffer
	w := parquet.NewGenericWriter[Row](&data, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("kubectl-sunset", "", ""))
	for found, err := range c.From.Each(ctx, metas) {
		if err != nil {
			return nil, err
		}
		row, err := rowOf(found)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write([]Row{row}); err != nil {
			return nil, err
		}
		if c.done++; c.Progress != nil {
			c.Progress(c.done)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(bytes.NewReader(data.Bytes()), int64(data.Len()))
	if err != nil {
		return nil, fmt.Errorf("read the Parquet file: %w", err)
	}
	if int(f.NumRows()) != len(metas) {
		return nil, fmt.Errorf("the Parquet file has %d rows for %d records", f.NumRows(), len(metas))
	}
	return data.Bytes(), nil
}
