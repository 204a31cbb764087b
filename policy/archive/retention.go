// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"iter"
	"time"
)

// Retention says how long an archive keeps its records. It deletes whole days in UTC.
type Retention struct {
	Retain time.Duration // from the end of the day; 0: forever
	Holds  []string      // a day is kept if a name of its objects starts with one of these, or one of these with the name of its folder
}

// Expired returns the names of at most limit objects to delete, in the order in which to delete them. segments and index list
// the bucket below segments/ and index/ in the order of names, and are not read further than needed. The caller calls it again
// until it returns nothing.
func (k Retention) Expired(segments, index iter.Seq2[Entry, error], now time.Time, limit int) ([]string, error) {
	return nil, nil
}

// Prefixes of names in a bucket.
const (
	SegmentPrefix = "segments/"
	IndexPrefix   = "index/"
	ProbePrefix   = "probe/" // objects by which a store is tested, deleted at once
)
