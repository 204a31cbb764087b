// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/archive"
)

// part is one file of a day: parquet/month=2026-11/20261127-1of2-SHA256.parquet.
type part struct {
	day        time.Time // start, in UTC
	number, of int       // from 1
}

// parts are the files of a day, by their names.
type parts map[part]string

const (
	monthLayout = "month=2006-01/"
	dayLayout   = "20060102"
	suffix      = ".parquet"
)

func (p part) name(data []byte) string {
	return fmt.Sprintf("%s%s%s-%dof%d-%x%s", archive.ParquetPrefix, p.day.Format(monthLayout), p.day.Format(dayLayout), p.number, p.of, sha256.Sum256(data), suffix)
}

// parsePart parses a name; false for one of another form.
func parsePart(name string) (p part, ok bool) {
	_, file, _ := strings.Cut(strings.TrimPrefix(name, archive.ParquetPrefix), "/")
	fields := strings.Split(strings.TrimSuffix(file, suffix), "-")
	if len(fields) != 3 {
		return part{}, false
	}
	var err error
	if p.day, err = time.Parse(dayLayout, fields[0]); err != nil {
		return part{}, false
	}
	n, err := fmt.Sscanf(fields[1], "%dof%d", &p.number, &p.of)
	return p, n == 2 && err == nil
}

// isComplete reports whether a day has all files.
func (p parts) isComplete() bool {
	have := map[int]int{}
	for at := range p {
		have[at.of]++
	}
	for of, n := range have {
		if n == of && len(have) == 1 {
			return true
		}
	}
	return false
}

// copied returns the files that exist, by day.
func (c *Compactor) copied(ctx context.Context) (map[time.Time]parts, error) {
	days := map[time.Time]parts{}
	for e, err := range c.To.List(ctx, archive.ParquetPrefix) {
		if err != nil {
			return nil, err
		}
		if p, ok := parsePart(e.Name); ok {
			if days[p.day] == nil {
				days[p.day] = parts{}
			}
			days[p.day][p] = e.Name
		}
	}
	return days, nil
}

// dayOfSegment returns the day in the name of a segment: segments/2026/11/27/...
func dayOfSegment(name string) (time.Time, bool) {
	const layout = "2006/01/02"
	rest := strings.TrimPrefix(name, archive.SegmentPrefix)
	if len(rest) < len(layout) {
		return time.Time{}, false
	}
	day, err := time.Parse(layout, rest[:len(layout)])
	return day, err == nil
}
