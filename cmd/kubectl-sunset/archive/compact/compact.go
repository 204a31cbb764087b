// SPDX-License-Identifier: Apache-2.0

// Package compact copies the records of an archive into Parquet files, so that query engines such as DuckDB, Athena, BigQuery and
// Spark can read them.
//
// It copies whole days in UTC, each into one file. Records of encrypted segments are never written into the archive itself. It needs
// memory for the compressed records of a day, and for their metadata.
package compact

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	kjson "sigs.k8s.io/json"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// settled is how long after the end of a day the results of its records are known.
const settled = 13 * time.Hour

// The beginnings of names of segments and of files, for package time.
const (
	segmentLayout = archive.SegmentPrefix + "2006/01/02"
	fileLayout    = archive.ParquetPrefix + "month=2006-01/20060102"
)

// Compactor copies records.
type Compactor struct {
	From     *archive.Reader
	To       archive.Bucket
	Progress func(records int) // called with the number of records that were copied

	Records int     // in the files that were written
	Unread  []error // days that were not copied, because an object cannot be read
}

// Run copies all days that are over and that it has not copied yet. It returns the names of the files that it wrote, also with an error,
// which is one of the store. It does not copy a day with an object that cannot be read, and continues with the next day. Without
// identities, an encrypted object is an error.
func (c *Compactor) Run(ctx context.Context, now time.Time) (files []string, err error) {
	segments, err := days(ctx, c.From.Bucket, archive.SegmentPrefix, segmentLayout)
	if err != nil {
		return nil, err
	}
	copied, err := days(ctx, c.To, archive.ParquetPrefix, fileLayout)
	if err != nil {
		return nil, err
	}
	wanted := maps.Clone(segments)
	for day := range segments { // a segment may have records of the day before it was written
		wanted[day.AddDate(0, 0, -1)] = true
	}
	for _, day := range slices.SortedFunc(maps.Keys(wanted), time.Time.Compare) {
		if copied[day] || day.AddDate(0, 0, 1).Add(settled).After(now) {
			continue
		}
		data, records, err := c.read(ctx, day)
		switch {
		case errors.Is(err, archive.ErrEncrypted) && len(c.From.Identities) == 0: // so are the next days
			return files, onDay(day, err)
		case archive.IsOfObject(err):
			c.Unread = append(c.Unread, onDay(day, err))
			continue
		case err == nil && records == 0:
			continue
		}
		name := ""
		if err == nil {
			name, err = c.write(ctx, day, data)
		}
		if err != nil { // of the store: it would fail again
			return files, onDay(day, err)
		}
		files, c.Records = append(files, name), c.Records+records
	}
	return files, nil
}

func onDay(day time.Time, err error) error {
	return fmt.Errorf("day %s: %w", day.Format(time.DateOnly), err)
}

// days returns the days in the names of objects.
func days(ctx context.Context, in archive.Bucket, prefix, layout string) (map[time.Time]bool, error) {
	found := map[time.Time]bool{}
	for e, err := range in.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		isPart := prefix == archive.ParquetPrefix && path.Ext(e.Name) != ".parquet" // a write was interrupted
		if day, err := time.Parse(layout, e.Name[:min(len(e.Name), len(layout))]); err == nil && !isPart {
			found[day] = true
		}
	}
	return found, nil
}

// read returns the Parquet file of one day, and its number of records.
func (c *Compactor) read(ctx context.Context, day time.Time) (data []byte, records int, err error) {
	metas, err := c.From.Find(ctx, archive.Query{Since: day, Until: day.AddDate(0, 0, 1)})
	if err != nil || len(metas) == 0 {
		return nil, 0, err
	}
	if i := slices.IndexFunc(metas, archive.Meta.IsEncrypted); i >= 0 {
		for _, err := range c.To.List(ctx, metas[i].Segment) { // it is the archive, perhaps by another URL
			return nil, 0, cmp.Or(err, errors.New("the archive is encrypted, and Parquet files are not: choose another place for them, with --to URL"))
		}
	}
	return c.encode(ctx, metas)
}

// write writes the file of one day, and returns its name: parquet/month=2026-11/20261127-SHA256.parquet.
func (c *Compactor) write(ctx context.Context, day time.Time, data []byte) (string, error) {
	name := fmt.Sprintf("%s-%x.parquet", day.Format(fileLayout), sha256.Sum256(data))
	if err := c.To.Write(ctx, name, data); err != nil { // the next call must not take the day for copied
		return "", errors.Join(err, c.To.Delete(context.WithoutCancel(ctx), name))
	}
	return name, nil
}

// rowGroup is the number of rows that a writer holds before it compresses them.
const rowGroup = 10_000

// encode returns a Parquet file with these records, and their number.
func (c *Compactor) encode(ctx context.Context, metas []archive.Meta) (_ []byte, records int, err error) {
	var data bytes.Buffer
	w := parquet.NewGenericWriter[Row](&data, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(rowGroup), parquet.CreatedBy("kubectl-sunset", "", ""))
	for found, err := range c.From.Each(ctx, metas) {
		if err != nil {
			return nil, 0, err
		}
		row, err := rowOf(found)
		if err != nil {
			return nil, 0, err
		}
		if _, err := w.Write([]Row{row}); err != nil {
			return nil, 0, err
		}
		records++
		c.Progress(c.Records + records)
	}
	err = w.Close()
	return data.Bytes(), records, err
}

// Row is one row of a Parquet file: one version of one object. The columns are in docs/tasks/query-archives.md.
type Row struct {
	Time            time.Time         `parquet:"time,timestamp(microsecond)"` // when it was archived
	Cluster         string            `parquet:"cluster,dict"`
	Policy          string            `parquet:"policy,dict"`
	Rule            string            `parquet:"rule,dict"`
	APIVersion      string            `parquet:"api_version,dict"`
	Kind            string            `parquet:"kind,dict"`
	Namespace       string            `parquet:"namespace,dict"` // empty for cluster-scoped objects
	Name            string            `parquet:"name"`
	UID             string            `parquet:"uid"`
	ResourceVersion string            `parquet:"resource_version"`
	Outcome         string            `parquet:"outcome,dict"` // of the rule's outcome expression
	Reason          string            `parquet:"reason,dict"`
	Result          string            `parquet:"result,dict"` // deleted, gone, kept, unknown, or none
	Due             time.Time         `parquet:"due_time,timestamp(microsecond)"`
	Created         time.Time         `parquet:"creation_time,timestamp(microsecond)"`
	Size            int64             `parquet:"size"` // bytes of the record, before compression
	Labels          map[string]string `parquet:"labels"`
	Object          string            `parquet:"object,json,plain"` // DuckDB 1.4 cannot read JSON in the default encoding
	Dependents      []string          `parquet:"dependents,list"`   // as KIND.GROUP/NAME
	Segment         string            `parquet:"segment,dict"`
	Line            int32             `parquet:"line"`
}

func rowOf(f archive.Found) (Row, error) {
	var object struct {
		Metadata struct {
			CreationTimestamp string `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(f.Record.Object, &object); err != nil {
		return Row{}, err
	}
	created, _ := time.Parse(time.RFC3339, object.Metadata.CreationTimestamp) // zero if it is redacted
	return Row{
		Time: f.ArchivedAt, Cluster: f.Record.Cluster, Policy: f.Policy, Rule: f.Rule, APIVersion: f.APIVersion, Kind: f.Kind,
		Namespace: f.Namespace, Name: f.Name, UID: string(f.UID), ResourceVersion: f.ResourceVersion, Outcome: f.Outcome, Reason: f.Reason,
		Result: cmp.Or(string(f.Result), "none"), Due: f.Due, Created: created, Size: int64(f.Bytes), Labels: f.Labels,
		Object: string(f.Record.Object), Dependents: f.Dependents, Segment: f.Segment, Line: int32(f.Line),
	}, nil
}
