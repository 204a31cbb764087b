// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"time"

	"filippo.io/age"
	_ "github.com/klauspost/compress/zstd"

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
type Builder struct{}

// NewBuilder makes an empty Builder. With recipients, the segments are encrypted for them. ParseRecipients reads recipients.
func NewBuilder(recipients ...age.Recipient) *Builder { return &Builder{} }

// Add adds a record of one version of an object, and returns its line. It adds apiVersion and kind to r.Object if they are
// absent, as in the items of a list, and sets r.Version.
//
// The error is ErrMismatch if r.Object does not have the name, UID and resourceVersion of version, and ErrTooLarge if the record
// is longer than MaxRecord. The segment then is as before.
func (b *Builder) Add(version audit.Object, r Record) (line int, err error) { return 0, nil }

// Len is the number of records since the last Seal.
func (b *Builder) Len() int { return 0 }

// Full reports whether the segment should be sealed before the next record.
func (b *Builder) Full() bool { return false }

// Seal ends the segment and empties the Builder. at is the time in its name; the records belong to its day in UTC.
func (b *Builder) Seal(at time.Time) (Segment, error) { return Segment{}, nil }

// Segment is a complete segment that is to be written with Bucket.Write. Each record of it may have a receipt after Write
// succeeds, and not before.
type Segment struct {
	Name string // in the bucket
	Data []byte
	Meta []Meta // of each line
}

// ParseRecipients reads public keys of age: age1... and age1pq1....
func ParseRecipients(texts []string) ([]age.Recipient, error) { return nil, nil }

// ParseIdentities reads private keys of age: a file as age-keygen writes it.
func ParseIdentities(text string) ([]age.Identity, error) { return nil, nil }
