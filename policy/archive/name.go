// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"time"
)

// Prefixes of names in a bucket.
const (
	SegmentPrefix = "segments/"
	IndexPrefix   = "index/"
	ParquetPrefix = "parquet/" // copies of the records of whole days: parquet/month=YYYY-MM/YYYYMMDD-....parquet
	ProbePrefix   = "probe/"   // objects by which a store is tested, deleted at once
)

const (
	dayLayout  = "2006/01/02/"
	timeLayout = "20060102T150405Z"
	suffix     = ".jsonl.zst"
	ageSuffix  = ".age"
)

// name is the parsed name of a segment or of an index object: PREFIX/YYYY/MM/DD/TIME-SHA256.jsonl.zst, with .age if encrypted.
type name struct {
	prefix    string
	day       string // in UTC, as 2026/11/27/
	at        time.Time
	digest    string // SHA-256 of the object in hexadecimal digits
	encrypted bool
}

// nameOf is the name of a new object with these bytes, in the folder of a day.
func nameOf(prefix, day string, at time.Time, data []byte, encrypted bool) string {
	n := prefix + day + at.UTC().Format(timeLayout) + "-" + digest(data) + suffix
	if encrypted {
		n += ageSuffix
	}
	return n
}

// parseName reads a name. ok is false if it is not one of an archive.
func parseName(prefix, text string) (n name, ok bool) {
	rest, found := strings.CutPrefix(text, prefix)
	if !found || len(rest) < len(dayLayout) {
		return n, false
	}
	n.prefix, n.day, rest = prefix, rest[:len(dayLayout)], rest[len(dayLayout):]
	if _, err := time.Parse(dayLayout, n.day); err != nil {
		return n, false
	}
	rest, n.encrypted = strings.CutSuffix(rest, ageSuffix)
	rest, found = strings.CutSuffix(rest, suffix)
	at, sum, dash := strings.Cut(rest, "-")
	n.digest = sum
	var err error
	n.at, err = time.Parse(timeLayout, at)
	return n, found && dash && err == nil && isDigest(sum)
}

// dayOfName is the day of the name of an object below one of the prefixes.
func dayOfName(prefix, text string) (day string, ok bool) {
	if prefix != ParquetPrefix {
		n, ok := parseName(prefix, text)
		return n.day, ok
	}
	date, _, _ := strings.Cut(path.Base(text), "-")
	t, err := time.Parse("20060102", date)
	return dayOf(t), err == nil && strings.HasPrefix(text, prefix)
}

// parseAny reads the name of a segment or of an index object.
func parseAny(text string) (name, error) {
	for _, prefix := range []string{SegmentPrefix, IndexPrefix} {
		if n, ok := parseName(prefix, text); ok {
			return n, nil
		}
	}
	return name{}, fmt.Errorf("object %q is not part of an archive: its name is not that of a segment or of an index object", text)
}

func isDigest(s string) bool {
	return len(s) == hex.EncodedLen(sha256.Size) && strings.Trim(s, "0123456789abcdef") == ""
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func dayOf(t time.Time) string { return t.UTC().Format(dayLayout) }

// startOf is the start of a day of parseName.
func startOf(day string) time.Time {
	t, _ := time.Parse(dayLayout, day) // parseName has read it
	return t
}
