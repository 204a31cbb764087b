// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"filippo.io/age"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// Limits of a segment. A caller seals a Builder that is Full.
const (
	MaxRecords = 500      // in one segment
	FullBytes  = 4 << 20  // a segment with as many bytes of lines is full
	MaxRecord  = 32 << 20 // bytes of one line
)

// Builder collects the records of one segment and compresses them as they are added: it holds the segment. It is not safe for
// concurrent use. After Seal it is empty and can be used again.
type Builder struct {
	recipients []age.Recipient
	encoder    *zstd.Encoder
	data       *bytes.Buffer // compressed
	bytes      int           // of the lines
	meta       []Meta
	rest, line bytes.Buffer // of the last record: without its object, and with it
}

// NewBuilder makes an empty Builder. With recipients, the segments are encrypted for them. Package settings reads recipients.
func NewBuilder(recipients ...age.Recipient) *Builder {
	return &Builder{recipients: recipients, encoder: newEncoder()}
}

// Add adds a record of one version of an object, and returns its line. It adds apiVersion and kind to r.Object if they are
// absent, as in the items of a list, and sets r.Version.
//
// It is an error if r.Object does not have the kind, namespace, name, UID and resourceVersion of version, or if the record is longer
// than MaxRecord. The segment then is as before.
func (b *Builder) Add(version audit.Object, r Record) (line int, err error) {
	defer b.trim()
	m, err := b.encode(version, r)
	if err != nil {
		return 0, fmt.Errorf("archive %s: %w", version, err)
	}
	if len(b.meta) == 0 {
		b.data = &bytes.Buffer{}
		b.encoder.Reset(b.data)
	}
	if _, err := b.encoder.Write(b.line.Bytes()); err != nil {
		return 0, err
	}
	m.Line, m.Bytes = len(b.meta), b.line.Len()-1
	b.meta = append(b.meta, m)
	b.bytes += b.line.Len()
	return m.Line, nil
}

// trim frees the memory of a long line.
func (b *Builder) trim() {
	if b.line.Cap()+b.rest.Cap() > linesMost {
		b.line, b.rest = bytes.Buffer{}, bytes.Buffer{}
	}
}

// encode writes the line of a record, and returns its metadata.
func (b *Builder) encode(version audit.Object, r Record) (m Meta, err error) {
	r.Version = Version
	r.ArchivedAt, r.Due = r.ArchivedAt.UTC(), r.Due.UTC()
	h, err := readHeader(r.Object) // it reads all of the object
	if err != nil {
		return m, err
	}
	begin, object := h.complete(r.Object, version.APIVersion, version.Kind)
	if m, err = metaOf(r, h); err != nil {
		return m, err
	}
	if got := m.Object; !same(got, version) {
		return m, fmt.Errorf("the content is of %s with UID %s and resourceVersion %s, and not of UID %s and resourceVersion %s",
			got, got.UID, got.ResourceVersion, version.UID, version.ResourceVersion)
	}
	err = b.write(r, begin, object)
	if n := b.line.Len(); n > MaxRecord {
		err = fmt.Errorf("the record has %d bytes, and at most %d are possible; lower logs.tailBytes, or do not include dependents or Events",
			n, MaxRecord)
	}
	return m, err
}

// write writes the line of a record whose object, in two parts, is valid JSON. It keeps the bytes of the object, except white space
// between tokens if there are line breaks.
func (b *Builder) write(r Record, begin, object []byte) error {
	r.Object = nil
	b.rest.Reset()
	b.line.Reset()
	if err := marshalTo(&b.rest, r); err != nil {
		return err
	}
	const key = `"object":` // in a string, its quotation marks would be escaped
	before, after, _ := bytes.Cut(b.rest.Bytes(), []byte(key+"null"))
	if bytes.IndexByte(object, '\n') >= 0 {
		var err error
		begin, err = jsontext.AppendFormat(nil, slices.Concat(begin, object),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
		if object = nil; err != nil {
			return err
		}
	}
	for _, part := range [][]byte{before, []byte(key), begin, object, after} {
		b.line.Write(part)
	}
	return nil
}

// same reports whether a and b are one version of one object. API versions may differ, since UID and resourceVersion are the same in
// all.
func same(a, b audit.Object) bool {
	a.APIVersion, b.APIVersion = a.GroupKind().Group, b.GroupKind().Group
	return a == b && a.UID != "" && a.ResourceVersion != ""
}

// Full reports whether the segment should be sealed before the next record.
func (b *Builder) Full() bool { return len(b.meta) >= MaxRecords || b.bytes >= FullBytes }

// Seal ends the segment and empties the Builder. at is the time in its name; the records belong to its day in UTC. It is an error
// to seal an empty Builder.
func (b *Builder) Seal(at time.Time) (Segment, error) {
	if len(b.meta) == 0 {
		return Segment{}, errors.New("seal a segment without records")
	}
	meta := b.meta
	b.meta, b.bytes = nil, 0
	if err := b.encoder.Close(); err != nil {
		return Segment{}, err
	}
	data, err := encrypt(b.data.Bytes(), b.recipients)
	if err != nil {
		return Segment{}, err
	}
	s := Segment{Name: nameOf(SegmentPrefix, dayOf(at), at, data, len(b.recipients) > 0), Data: data, Meta: meta}
	for i := range s.Meta {
		s.Meta[i].Segment = s.Name
	}
	return s, nil
}

// Segment is a complete segment that is to be written with Bucket.Write. Each record of it may have a receipt after Write
// succeeds, and not before.
type Segment struct {
	Name string // in the bucket
	Data []byte
	Meta []Meta // of each line
}
