// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"time"
)

// Prefixes of names in a bucket.
const (
	SegmentPrefix = "segments/"
	IndexPrefix   = "index/"
	ParquetPrefix = "parquet/"             // copies of the records of whole days: parquet/month=YYYY-MM/YYYYMMDD-....parquet
	ProbePrefix   = IndexPrefix + "probe/" // objects by which a store is tested, deleted at once
)

const (
	encryptedSuffix = ".age"

	dayLayout  = "2006/01/02/"
	timeLayout = "20060102T150405Z"
)

var (
	objectNames  = regexp.MustCompile(`^(segments/|index/)(\d{4}/\d{2}/\d{2}/)\d{8}T\d{6}Z-([0-9a-f]{64})\.jsonl\.zst(\.age)?$`)
	parquetNames = regexp.MustCompile(`^parquet/month=\d{4}-\d{2}/(\d{8})-`)
)

// name is the parsed name of a segment or of an index object.
type name struct {
	prefix    string
	day       string    // in UTC, as 2026/11/27/
	start     time.Time // of the day
	digest    string    // SHA-256 of the object in hexadecimal digits
	encrypted bool
}

// parseName reads the name of a segment or of an index object. ok is false for all others.
func parseName(text string) (n name, ok bool) {
	parts := objectNames.FindStringSubmatch(text)
	if parts == nil {
		return n, false
	}
	start, err := time.Parse(dayLayout, parts[2])
	return name{prefix: parts[1], day: parts[2], start: start, digest: parts[3], encrypted: parts[4] != ""}, err == nil
}

// nameOf is the name of a new object with these bytes, in the folder of a day.
func nameOf(prefix, day string, at time.Time, data []byte, encrypted bool) string {
	n := prefix + day + at.UTC().Format(timeLayout) + "-" + digest(data) + ".jsonl.zst"
	if encrypted {
		n += encryptedSuffix
	}
	return n
}

// dayIn is the day in the name of a segment that nameOf has made. It is called for each record, unlike parseName.
func dayIn(segment string) string {
	rest := strings.TrimPrefix(segment, SegmentPrefix)
	return rest[:min(len(rest), len(dayLayout))]
}

// timeIn is the part of the name of a segment up to its time, to compare.
func timeIn(segment string) string { return segment[:len(SegmentPrefix+dayLayout+timeLayout)] }

// startOfDay is the start of the day in the name of any object with records. ok is false for names of another form.
func startOfDay(text string) (start time.Time, ok bool) {
	if parts := parquetNames.FindStringSubmatch(text); parts != nil {
		start, err := time.Parse("20060102", parts[1])
		return start, err == nil
	}
	n, ok := parseName(text)
	return n.start, ok
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func dayOf(t time.Time) string { return t.UTC().Format(dayLayout) }
