// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/audit"
)

const (
	frameBytes = 256 << 10 // lines that are compressed together
	indexBytes = 1 << 20   // an index object with as many compressed bytes is complete
)

// Indexer writes index objects. It keeps the lines of the current index object of each day, compressed and at most some MiB, and
// each Flush writes the object again with the lines that were added, and deletes the one that it replaces. It never reads: it also
// works if the archive is encrypted. Its methods may be called concurrently; Flush takes its time outside the lock.
type Indexer struct {
	bucket     Bucket
	recipients []age.Recipient
	encoder    *zstd.Encoder

	mu          sync.Mutex
	days        map[string]*dayIndex
	stale       []string // replaced objects that could not be deleted
	incremental bool     // the store refuses to delete: write each line once
}

// dayIndex is the current index object of one day. Its lines are compressed in frames, which form one file when put together.
type dayIndex struct {
	name    string // in the bucket; empty if it does not exist
	written []byte // frames of the object
	frames  []byte // that the object does not have
	raw     []byte // lines that are not compressed
	pending int    // records and results in frames, raw and results
	results pendingResults
}

// NewIndexer makes an Indexer without lines.
func NewIndexer(bucket Bucket, recipients ...age.Recipient) *Indexer {
	return &Indexer{bucket: bucket, recipients: recipients, encoder: newEncoder(), days: map[string]*dayIndex{}}
}

// Add adds the metadata of a segment that was written.
func (x *Indexer) Add(s Segment) {
	n, ok := parseName(SegmentPrefix, s.Name)
	if !ok {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(n.day)
	for _, m := range s.Meta {
		x.add(d, m)
	}
	d.pending += len(s.Meta)
}

// Finish adds the result of the record in a line of a segment. It combines with earlier results of that record.
func (x *Indexer) Finish(segment string, line int, r Result, at time.Time) {
	n, ok := parseName(SegmentPrefix, segment)
	if !ok || line < 0 || line >= MaxRecords {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(n.day)
	d.results.addLine(place{segment, line}, known{r, at.UTC()})
	d.pending++
}

// FinishVersion adds the result of a record that an earlier process wrote, whose segment is not known. Find finds it if it is at
// most LateResult after the record.
func (x *Indexer) FinishVersion(o audit.Object, r Result, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(dayOf(at))
	d.results.addVersion(version{o.UID, o.ResourceVersion}, known{r, at.UTC()})
	d.pending++
}

// Pending is the number of records and results that no Flush has written.
func (x *Indexer) Pending() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, d := range x.days {
		n += d.pending
	}
	return n
}

func (x *Indexer) day(day string) *dayIndex {
	if x.days[day] == nil {
		x.days[day] = &dayIndex{}
	}
	return x.days[day]
}

// add adds a line.
func (x *Indexer) add(d *dayIndex, line any) {
	text, err := marshal(line)
	if err != nil {
		return // Meta and Finished are always valid
	}
	d.raw = append(d.raw, text...)
	if len(d.raw) >= frameBytes {
		x.compress(d)
	}
}

func (x *Indexer) compress(d *dayIndex) {
	if len(d.raw) > 0 {
		d.frames = x.encoder.EncodeAll(d.raw, d.frames)
		d.raw = d.raw[:0]
	}
}

// Flush writes what is pending. After an error, what was not written is still pending. A deletion that the store refuses is no
// error: the object stays, and the Indexer then writes each line once. Only one Flush may run at a time.
func (x *Indexer) Flush(ctx context.Context, now time.Time) error {
	x.mu.Lock()
	days := slices.Sorted(maps.Keys(x.days))
	x.mu.Unlock()
	var all []error
	for _, day := range days {
		all = append(all, x.flush(ctx, day, now))
	}
	return errors.Join(append(all, x.deleteStale(ctx))...)
}

// flush writes the index object of a day: first the new one, then it deletes the one that it replaces.
func (x *Indexer) flush(ctx context.Context, day string, now time.Time) error {
	frames, pending, content := x.take(day, now)
	if len(frames) == 0 {
		return nil
	}
	data, err := encrypt(content, x.recipients)
	object := ""
	if err == nil {
		object = nameOf(IndexPrefix, day, now, data, len(x.recipients) > 0)
		err = x.bucket.Write(ctx, object, data)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(day)
	if err != nil {
		d.frames = append(frames, d.frames...)
		d.pending += pending
		return err
	}
	if d.name != "" && d.name != object {
		x.stale = append(x.stale, d.name)
	}
	d.name, d.written = object, content
	if len(content) >= indexBytes || x.incremental {
		d.name, d.written = "", nil
	}
	return nil
}

// take moves the pending lines of a day out of it: their frames, their number, and the object with them and what was written. It
// forgets a past day without pending lines.
func (x *Indexer) take(day string, now time.Time) (frames []byte, pending int, content []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.days[day]
	for _, f := range d.results.list() {
		x.add(d, f)
	}
	x.compress(d)
	if len(d.frames) == 0 && day < dayOf(now) {
		delete(x.days, day)
		return nil, 0, nil
	}
	frames, pending = d.frames, d.pending
	d.frames, d.raw, d.pending, d.results = nil, nil, 0, pendingResults{}
	return frames, pending, slices.Concat(d.written, frames)
}

// deleteStale deletes replaced objects.
func (x *Indexer) deleteStale(ctx context.Context) error {
	x.mu.Lock()
	names := x.stale
	x.stale = nil
	x.mu.Unlock()
	for i, object := range names {
		err := x.bucket.Delete(ctx, object)
		if err == nil {
			continue
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if errors.Is(err, ErrRefused) {
			x.refused()
			return nil
		}
		x.stale = names[i:]
		return err
	}
	return nil
}

// refused begins an object for each Flush, since the objects that it would replace stay.
func (x *Indexer) refused() {
	x.incremental = true
	for _, d := range x.days {
		d.name, d.written = "", nil
	}
}

// marshal writes a value as a line of JSON without white space, and with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return line.Bytes(), err
}
