// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/sunset-k8s/sunset/policy/audit"
)

// Limits of a segment. A caller seals a Builder that is Full.
const (
	MaxRecords = 500      // in one segment
	FullBytes  = 4 << 20  // a segment with as many bytes of lines is full
	MaxRecord  = 32 << 20 // bytes of one line
)

// Builder collects the records of one segment, compressed and encrypted as they are added: it holds one line and the segment. It
// is not safe for concurrent use. After Seal it is empty and can be used again.
type Builder struct {
	recipients []age.Recipient
	data       bytes.Buffer
	encrypted  io.WriteCloser // nil without recipients, and before the first record
	encoder    *zstd.Encoder
	line       bytes.Buffer
	bytes      int
	meta       []Meta
}

// NewBuilder makes an empty Builder. With recipients, the segments are encrypted for them. ParseRecipients reads recipients.
func NewBuilder(recipients ...age.Recipient) *Builder {
	return &Builder{recipients: recipients, encoder: newEncoder()}
}

// Add adds a record of one version of an object, and returns its line. It adds apiVersion and kind to r.Object if they are
// absent, as in the items of a list, and sets r.Version.
//
// The error is ErrMismatch if r.Object does not have the kind, namespace, name, UID and resourceVersion of version, and
// ErrTooLarge if the record is longer than MaxRecord. The segment then is as before.
func (b *Builder) Add(version audit.Object, r Record) (line int, err error) {
	r.Version = Version
	r.ArchivedAt, r.Due = r.ArchivedAt.UTC(), r.Due.UTC()
	h, err := readHeader(r.Object)
	if err == nil {
		r.Object, err = h.complete(r.Object, version.APIVersion, version.Kind)
	}
	var m Meta
	if err == nil {
		m, err = metaOf(r, h)
	}
	if err != nil {
		return 0, fmt.Errorf("archive %s: %w", version, err)
	}
	if got := m.Object; !same(got, version) {
		return 0, fmt.Errorf("archive %s with UID %s and resourceVersion %s: %w: the content is of %s with UID %s and resourceVersion %s",
			version, version.UID, version.ResourceVersion, ErrMismatch, got, got.UID, got.ResourceVersion)
	}
	if err := b.encode(r); err != nil {
		return 0, fmt.Errorf("archive %s: %w", version, err)
	}
	if err := b.write(); err != nil {
		return 0, err
	}
	m.Line, m.Bytes = len(b.meta), b.line.Len()-1
	b.meta = append(b.meta, m)
	b.bytes += b.line.Len()
	return m.Line, nil
}

// same compares everything that identifies a version. The API version may differ: UID and resourceVersion are the same in all.
func same(a, b audit.Object) bool {
	a.APIVersion, b.APIVersion = a.GroupKind().Group, b.GroupKind().Group
	return a == b && a.UID != "" && a.ResourceVersion != ""
}

// encode fills line. It keeps the bytes of objects except white space between tokens.
func (b *Builder) encode(r Record) error {
	b.line.Reset()
	e := json.NewEncoder(&b.line)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	if n := b.line.Len(); n > MaxRecord {
		return fmt.Errorf("%w: it has %d bytes, and at most %d are possible; lower logs.tailBytes, or do not include dependents or Events",
			ErrTooLarge, n, MaxRecord)
	}
	return nil
}

func (b *Builder) write() error {
	if len(b.meta) == 0 {
		if err := b.begin(); err != nil {
			return err
		}
	}
	_, err := b.encoder.Write(b.line.Bytes())
	return err
}

func (b *Builder) begin() error {
	b.data.Reset()
	b.encrypted = nil
	if len(b.recipients) == 0 {
		b.encoder.Reset(&b.data)
		return nil
	}
	w, err := age.Encrypt(&b.data, b.recipients...)
	if err != nil {
		return fmt.Errorf("encrypt for the recipients of the archive: %w", err)
	}
	b.encrypted = w
	b.encoder.Reset(w)
	return nil
}

// Len is the number of records since the last Seal.
func (b *Builder) Len() int { return len(b.meta) }

// Full reports whether the segment should be sealed before the next record.
func (b *Builder) Full() bool { return len(b.meta) >= MaxRecords || b.bytes >= FullBytes }

// Seal ends the segment and empties the Builder. at is the time in its name; the records belong to its day in UTC. It is an error
// to seal an empty Builder.
func (b *Builder) Seal(at time.Time) (Segment, error) {
	if len(b.meta) == 0 {
		return Segment{}, errors.New("seal a segment without records")
	}
	err := b.encoder.Close()
	if b.encrypted != nil {
		err = errors.Join(err, b.encrypted.Close())
	}
	s := Segment{Data: bytes.Clone(b.data.Bytes()), Meta: b.meta}
	s.Name = nameOf(SegmentPrefix, dayOf(at), at, s.Data, b.encrypted != nil)
	for i := range s.Meta {
		s.Meta[i].Segment = s.Name
	}
	b.empty()
	return s, err
}

// empty releases what large segments needed.
func (b *Builder) empty() {
	b.meta, b.bytes, b.encrypted = nil, 0, nil
	b.data.Reset()
	for _, buffer := range []*bytes.Buffer{&b.data, &b.line} {
		if buffer.Cap() > 1<<20 {
			*buffer = bytes.Buffer{}
		}
	}
}

// Segment is a complete segment that is to be written with Bucket.Write. Each record of it may have a receipt after Write
// succeeds, and not before.
type Segment struct {
	Name string // in the bucket
	Data []byte
	Meta []Meta // of each line
}
