// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Retention says how long an archive keeps its records. It deletes whole days in UTC.
type Retention struct {
	Retain time.Duration // from the end of the day; 0: forever
	Holds  []string      // prefixes of names of objects, such as segments/2026/11/: days that may have such objects are kept
}

// Expiry is what may be deleted of one day.
type Expiry struct {
	Day   string    // as 2026/11/27/
	Over  time.Time // when Retain was over
	Names []string  // of objects, to delete in this order: Parquet files, segments, and the index last
}

// Hold is the prefix of the segments of the day. A caller adds it to Holds for some time if the store refuses to delete one of
// them, so that it does not stop the deletion of other days.
func (e Expiry) Hold() string { return SegmentPrefix + e.Day }

// Expired returns the days that have expired, the oldest first, with at most limit objects in all. Zero Retain, an unknown name and
// an error of the listing delete nothing. list is Bucket.List, and is not read further than needed. The caller calls Expired again
// until it returns nothing.
//
// A crash during the deletion leaves a day with fewer segments, and its index. The index names segments that do not exist, which
// Find ignores.
func (k Retention) Expired(list func(prefix string) iter.Seq2[Entry, error], now time.Time, limit int) (days []Expiry, err error) {
	for _, prefix := range []string{ParquetPrefix, SegmentPrefix, IndexPrefix} { // the index only if no segment is left out
		for e, err := range list(prefix) {
			if err != nil {
				return nil, err
			}
			start, ok := startOfDay(e.Name)
			day := dayOf(start)
			if !ok || k.holds(start) {
				continue
			}
			if !k.isOver(start, now) { // nor is it for the days after it
				break
			}
			if limit--; limit < 0 {
				return days, nil
			}
			i, found := slices.BinarySearchFunc(days, day, func(e Expiry, day string) int { return strings.Compare(e.Day, day) })
			if !found {
				days = slices.Insert(days, i, Expiry{Day: day, Over: k.end(start)})
			}
			days[i].Names = append(days[i].Names, e.Name)
		}
	}
	return days, nil
}

// isOver reports whether Retain is over for a day.
func (k Retention) isOver(start, now time.Time) bool {
	return k.Retain != 0 && !k.end(start).After(now)
}

// end is when Retain ends for a day.
func (k Retention) end(start time.Time) time.Time { return start.AddDate(0, 0, 1).Add(k.Retain) }

// holds reports whether a hold may be one of an object of a day. Then everything of the day stays.
func (k Retention) holds(start time.Time) bool {
	day := dayOf(start)
	for _, begin := range []string{SegmentPrefix + day, IndexPrefix + day, ParquetPrefix + start.Format("month=2006-01/20060102-")} {
		if slices.ContainsFunc(k.Holds, func(hold string) bool { return strings.HasPrefix(begin, hold) || strings.HasPrefix(hold, begin) }) {
			return true
		}
	}
	return false
}
