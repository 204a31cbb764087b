// SPDX-License-Identifier: Apache-2.0

// Package compact copies the records of an archive into Parquet files, so that query engines such as DuckDB, Athena, BigQuery and
// Spark can read them.
//
// It copies whole days in UTC, and each day once. The next call copies a day again that a crash interrupted. Records of encrypted
// segments are never written into the archive itself. It needs the memory of one file and of the index of one day.
package compact

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// mostBytes is the limit of one file: bytes of records, before compression.
const mostBytes = 64 << 20

// settled is how long after the end of a day the results of its records are known.
const settled = 2 * time.Hour

// Compactor copies records.
type Compactor struct {
	From      *archive.Reader
	To        archive.Bucket
	Progress  func(records int) // called with the number of records that were copied
	FileBytes int               // bytes of the records of a file, before compression; 0 means 64 MiB

	Records int // that were copied
}

// Run copies all days that are over and that it has not copied yet. It returns the names of the files that it wrote, also with an error.
func (c *Compactor) Run(ctx context.Context, now time.Time) (files []string, err error) {
	days, err := c.days(ctx)
	if err != nil {
		return nil, err
	}
	left, err := c.files(ctx)
	if err != nil {
		return nil, err
	}
	for _, day := range days {
		if day.AddDate(0, 0, 1).Add(settled).After(now) || slices.ContainsFunc(left[day], isLast) {
			continue
		}
		written, err := c.day(ctx, day, left[day])
		files = append(files, written...)
		if err != nil {
			return files, fmt.Errorf("day %s: %w", day.Format(time.DateOnly), err)
		}
	}
	return files, nil
}

// days returns the days that may have records, in order. A segment may have records of the day before it was written.
func (c *Compactor) days(ctx context.Context) ([]time.Time, error) {
	var days []time.Time
	for e, err := range c.From.Bucket.List(ctx, archive.SegmentPrefix) {
		if err != nil {
			return nil, err
		}
		day, ok := parse(strings.TrimPrefix(e.Name, archive.SegmentPrefix), "2006/01/02")
		if ok && !slices.Contains(days[max(0, len(days)-1):], day) {
			days = append(days, day.AddDate(0, 0, -1), day)
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	return slices.Compact(days), nil
}

// files returns the names of the files that exist, by day.
func (c *Compactor) files(ctx context.Context) (map[time.Time][]string, error) {
	files := map[time.Time][]string{}
	for e, err := range c.To.List(ctx, archive.ParquetPrefix) {
		if err != nil {
			return nil, err
		}
		_, file, _ := strings.Cut(strings.TrimPrefix(e.Name, archive.ParquetPrefix), "/")
		if day, ok := parse(file, "20060102"); ok {
			files[day] = append(files[day], e.Name)
		}
	}
	return files, nil
}

// parse parses the day with which a text begins.
func parse(text, layout string) (time.Time, bool) {
	day, err := time.Parse(layout, text[:min(len(text), len(layout))])
	return day, err == nil
}

// fileName returns the name of a file: parquet/month=2026-11/20261127-1-SHA256.parquet.
func fileName(day time.Time, number int, data []byte) string {
	return fmt.Sprintf("%s%s-%d-%x.parquet", archive.ParquetPrefix, day.Format("month=2006-01/20060102"), number, sha256.Sum256(data))
}

// isLast reports whether a file is the last one that is written of its day: number 1. The day is then complete.
func isLast(name string) bool { return strings.Contains(name, "-1-") }

// day copies one day, and first deletes what an interrupted copy of it has left.
func (c *Compactor) day(ctx context.Context, day time.Time, left []string) (files []string, err error) {
	metas, err := c.From.Find(ctx, archive.Query{Since: day, Until: day.AddDate(0, 0, 1)})
	if err != nil {
		return nil, err
	}
	isEncrypted := func(m archive.Meta) bool { return strings.HasSuffix(m.Segment, ".age") }
	if c.To == c.From.Bucket && slices.ContainsFunc(metas, isEncrypted) {
		return nil, errors.New("the archive is encrypted, and Parquet files are not: choose where they may be, with --to URL")
	}
	for _, name := range left {
		if err := c.To.Delete(ctx, name); err != nil {
			return nil, fmt.Errorf("delete what an interrupted copy has left: %w", err)
		}
	}
	slices.SortFunc(metas, func(a, b archive.Meta) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
	for number, part := range slices.Backward(split(metas, cmp.Or(c.FileBytes, mostBytes))) {
		data, err := c.encode(ctx, part)
		if err != nil {
			return files, err
		}
		name := fileName(day, number+1, data)
		if err := c.To.Write(ctx, name, data); err != nil {
			return files, err
		}
		files = append(files, name)
	}
	return files, nil
}

// split splits the records of a day into files.
func split(metas []archive.Meta, most int) (parts [][]archive.Meta) {
	first, size := 0, 0
	for i, m := range metas {
		if i > first && size+m.Bytes > most {
			parts = append(parts, metas[first:i])
			first, size = i, 0
		}
		size += m.Bytes
	}
	if first < len(metas) {
		parts = append(parts, metas[first:])
	}
	return parts
}

// encode returns a Parquet file with these records.
func (c *Compactor) encode(ctx context.Context, metas []archive.Meta) ([]byte, error) {
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
		c.Records++
		c.Progress(c.Records)
	}
	err := w.Close()
	return data.Bytes(), err
}
