// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// indexBytes is the number of compressed bytes at which an index object is complete. Each Flush writes all of the current object,
	// and each search reads all objects: those of 1,000,000 Jobs have some 160.
	indexBytes = 256 << 10
	linesMost  = 1 << 20 // bytes of memory for lines that are kept for the next Flush
)

// Indexer writes index objects. It keeps the current index object of each day, compressed, and each Flush
// writes the object again with the lines that were added, and deletes the one that it replaces. It never reads: it also works if
// the archive is encrypted. Its methods may be called concurrently, but only one Flush at a time.
type Indexer struct {
	bucket  Writer
	encoder *zstd.Encoder

	mu         sync.Mutex
	recipients []age.Recipient
	changed    bool // recipients, since the last Flush
	days       map[string]*dayIndex
}

// dayIndex is the current index object of one day. Each Flush adds a zstd frame to it.
type dayIndex struct {
	lines    []byte
	finished map[finishing]*Finished

	// Only Flush uses these.
	name    string // in the bucket; empty if it does not exist
	content []byte
	written int // bytes of content that the bucket has
}

// finishing is what one Finished is about.
type finishing struct {
	segment         string
	uid             types.UID
	resourceVersion string
	result          Result
}

// NewIndexer makes an Indexer without lines.
func NewIndexer(bucket Writer, recipients ...age.Recipient) *Indexer {
	return &Indexer{bucket: bucket, recipients: recipients, encoder: newEncoder(), days: map[string]*dayIndex{}}
}

// Use encrypts for other recipients from now on, also what was added and not written. Objects that were written stay as they are.
func (x *Indexer) Use(recipients ...age.Recipient) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.recipients, x.changed = recipients, true
}

// Add adds the metadata of a segment that was written.
func (x *Indexer) Add(s Segment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.day(dayIn(s.Name))
	for _, m := range s.Meta {
		d.add(m)
	}
}

// Finish adds the result of the record in a line of a segment. It combines with earlier results of that record.
func (x *Indexer) Finish(segment string, line int, r Result, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, of := x.day(dayIn(segment)), finishing{segment: segment, result: r}
	if d.finished[of] == nil {
		d.finished[of] = &Finished{Result: r, Of: segment}
	}
	d.finished[of].add(line, at.UTC())
}

// FinishVersion adds the result of all records of one version of an object, wherever they are. It is in the index of the day of at.
func (x *Indexer) FinishVersion(uid types.UID, resourceVersion string, r Result, at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.day(dayOf(at)).finished[finishing{uid: uid, resourceVersion: resourceVersion, result: r}] =
		&Finished{Result: r, At: at.UTC(), UID: uid, ResourceVersion: resourceVersion}
}

// day is the index of a day.
func (x *Indexer) day(day string) *dayIndex {
	if x.days[day] == nil {
		x.days[day] = &dayIndex{finished: map[finishing]*Finished{}}
	}
	return x.days[day]
}

// add adds a line.
func (d *dayIndex) add(line any) {
	lines := bytes.NewBuffer(d.lines)
	_ = marshalTo(lines, line) // Meta and Finished are always valid
	d.lines = lines.Bytes()
}

// Flush writes what was added. After an error, the next Flush writes what was not written. A deletion that the store refuses is not
// an error: the object stays, and the next Flush begins another.
func (x *Indexer) Flush(ctx context.Context, now time.Time) error {
	x.mu.Lock()
	days, recipients := slices.Sorted(maps.Keys(x.days)), x.recipients
	if x.changed {
		for _, d := range x.days {
			d.begin()
		}
	}
	x.changed = false
	x.mu.Unlock()
	var all []error
	for _, day := range days {
		if d := x.take(day, now); d != nil {
			all = append(all, x.flush(ctx, day, d, recipients, now))
		}
	}
	return errors.Join(all...)
}

// begin begins another object, without the bytes that are in the current one.
func (d *dayIndex) begin() {
	d.name, d.content, d.written = "", slices.Clone(d.content[d.written:]), 0
}

// take compresses the lines of a day into its content, and returns the day; nil if nothing was added. It forgets a past day to which
// nothing was added.
func (x *Indexer) take(day string, now time.Time) *dayIndex {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := x.days[day]
	for _, f := range d.finished {
		d.add(f.joined())
	}
	clear(d.finished)
	if len(d.lines) > 0 {
		d.content, d.lines = x.encoder.EncodeAll(d.lines, d.content), d.lines[:0]
		if cap(d.lines) > linesMost {
			d.lines = nil
		}
	}
	if len(d.content) > d.written {
		return d
	}
	if day < dayOf(now) {
		delete(x.days, day)
	}
	return nil
}

// flush writes the index object of a day, and then deletes the one that it replaces.
func (x *Indexer) flush(ctx context.Context, day string, d *dayIndex, recipients []age.Recipient, now time.Time) error {
	data, err := encrypt(d.content, recipients)
	if err != nil {
		return err
	}
	object, replaced := nameOf(IndexPrefix, day, now, data, len(recipients) > 0), d.name
	if err := x.bucket.Write(ctx, object, data); err != nil {
		return err
	}
	if d.name, d.written = object, len(d.content); replaced != "" {
		err = x.bucket.Delete(ctx, replaced)
	}
	if err != nil || len(d.content) >= indexBytes {
		d.begin()
	}
	if errors.Is(err, ErrRefused) {
		return nil
	}
	return err
}
