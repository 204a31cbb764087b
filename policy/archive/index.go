// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

const (
	frameBytes = 256 << 10 // lines that are compressed together
	indexBytes = 1 << 20   // an index object with as many compressed bytes is complete
)

// Indexer writes index objects. It keeps the lines of the current index object of each day, compressed and at most some MiB, and
// each Flush writes the object again with the lines that were added, and deletes the one that it replaces. It never reads: it also
// works if the archive is encrypted. Its methods may be called concurrently, but only one Flush at a time.
type Indexer struct {
	bucket     Bucket
	recipients []age.Recipient
	encoder    *zstd.Encoder

	mu   sync.Mutex
	days map[string]*dayIndex
}

// dayIndex is the current index object of one day. Its lines are compressed in frames, which form one file when put together.
type dayIndex struct {
	name     string // in the bucket; empty if it does not exist
	content  []byte // frames of the object, and those that are pending
	lines    []byte // pending, not compressed
	finished map[finishing]finishedLines
	pending  int // records and results that the object does not have
}

// finishing is what one Finished is about.
type finishing struct {
	segment string
	result  Result
}

type finishedLines struct {
	lines []int
	at    time.Time
}

// NewIndexer makes an Indexer without lines.
func NewIndexer(bucket Bucket, recipients ...age.Recipient) *Indexer {
	return &Indexer{bucket: bucket, recipients: recipients, encoder: newEncoder(), days: map[string]*dayIndex{}}
}

// Add adds the metadata of a segment that was written.
func (x *Indexer) Add(s Segment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(s.Name)
	for _, m := range s.Meta {
		x.add(d, m)
	}
	d.pending += len(s.Meta)
}

// Finish adds the result of the record in a line of a segment. It combines with earlier results of that record.
func (x *Indexer) Finish(segment string, line int, r Result, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(segment)
	f := d.finished[finishing{segment, r}]
	if f.lines = append(f.lines, line); at.After(f.at) {
		f.at = at.UTC()
	}
	d.finished[finishing{segment, r}] = f
	d.pending++
}

// Pending is the number of records and results that no Flush has written.
func (x *Indexer) Pending() (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range x.days {
		n += d.pending
	}
	return n
}

// day is the index of the day of a segment.
func (x *Indexer) day(segment string) *dayIndex {
	n, _ := parseName(segment)
	if x.days[n.day] == nil {
		x.days[n.day] = &dayIndex{finished: map[finishing]finishedLines{}}
	}
	return x.days[n.day]
}

// add adds a line.
func (x *Indexer) add(d *dayIndex, line any) {
	text, _ := marshal(line) // Meta and Finished are always valid
	if d.lines = append(d.lines, text...); len(d.lines) >= frameBytes {
		x.compress(d)
	}
}

func (x *Indexer) compress(d *dayIndex) {
	if len(d.lines) > 0 {
		d.content = x.encoder.EncodeAll(d.lines, d.content)
		d.lines = d.lines[:0]
	}
}

// Flush writes what is pending. After an error, what was not written is still pending. A deletion that the store refuses is no
// error: the object stays, and the next Flush begins another.
func (x *Indexer) Flush(ctx context.Context, now time.Time) error {
	x.mu.Lock()
	days := slices.Sorted(maps.Keys(x.days))
	x.mu.Unlock()
	var all []error
	for _, day := range days {
		all = append(all, x.flush(ctx, day, now))
	}
	return errors.Join(all...)
}

// flush writes the index object of a day, and then deletes the one that it replaces.
func (x *Indexer) flush(ctx context.Context, day string, now time.Time) error {
	content, pending := x.take(day, now)
	if pending == 0 {
		return nil
	}
	data, err := encrypt(content, x.recipients)
	if err != nil {
		return err
	}
	object := nameOf(IndexPrefix, day, now, data, len(x.recipients) > 0)
	if err := x.bucket.Write(ctx, object, data); err != nil {
		return err
	}
	replaced := x.wrote(day, object, len(content), pending)
	if replaced == "" || replaced == object {
		return nil
	}
	if err = x.bucket.Delete(ctx, replaced); err != nil {
		x.complete(day, len(content))
	}
	if errors.Is(err, ErrRefused) {
		return nil
	}
	return err
}

// take compresses the pending lines of a day and returns the content of its object with them, and their number. It forgets a past
// day without pending lines.
func (x *Indexer) take(day string, now time.Time) (content []byte, pending int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.days[day]
	for of, f := range d.finished {
		x.add(d, Finished{Result: of.result, At: f.at, Of: of.segment, Lines: ranges(f.lines)})
	}
	clear(d.finished)
	x.compress(d)
	if d.pending == 0 && day < dayOf(now) {
		delete(x.days, day)
	}
	return d.content, d.pending
}

// wrote notes that an object with the first n bytes of the content was written. It returns the object that it replaces.
func (x *Indexer) wrote(day, object string, n, pending int) (replaced string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.days[day]
	replaced, d.name = d.name, object
	if d.pending -= pending; n >= indexBytes {
		d.complete(n)
	}
	return replaced
}

// complete begins another object, since the one with the first n bytes of the content cannot be replaced.
func (x *Indexer) complete(day string, n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if d := x.days[day]; d.name != "" {
		d.complete(n)
	}
}

func (d *dayIndex) complete(n int) { d.name, d.content = "", slices.Clone(d.content[n:]) }
