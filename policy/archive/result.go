// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Result says what happened to an object after it was recorded. The zero Result is that nothing is known: the process may have
// ended in between, so that the object may be deleted.
//
// Results combine: of several results of one version, Deleted wins, then Gone, Absent, Kept and
// Unknown. A ledger counts the objects that are Deleted or Gone.
type Result string

// The results.
const (
	Unknown Result = "unknown" // the request had no definite answer
	Kept    Result = "kept"    // Sunset did not delete this version
	Absent  Result = "absent"  // it no longer existed at the first request: another client deleted it
	Gone    Result = "gone"    // it no longer existed after a request without a definite answer, which may have deleted it
	Deleted Result = "deleted" // the API server accepted the request
)

// results are in the order in which they win. One that this version does not know loses.
var results = []Result{"", Unknown, Kept, Absent, Gone, Deleted}

// Finished says what happened to records of one segment, or to all records of one version of an object. It is one line of an index
// object.
type Finished struct {
	Result Result    `json:"result"`
	At     time.Time `json:"resultTime"`      // of the latest of them
	Of     string    `json:"of,omitempty"`    // name of the segment; empty for a version
	Lines  [][2]int  `json:"lines,omitempty"` // first and last line of each range

	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
}

// add adds a line.
func (f *Finished) add(line int, at time.Time) {
	f.Lines = append(f.Lines, [2]int{line, line})
	if at.After(f.At) {
		f.At = at
	}
}

// joined has the same lines in as few ranges as possible.
func (f *Finished) joined() Finished {
	slices.SortFunc(f.Lines, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	j := *f
	j.Lines = nil
	for _, r := range f.Lines {
		if n := len(j.Lines); n > 0 && j.Lines[n-1][1] >= r[0]-1 {
			j.Lines[n-1][1] = r[1]
		} else {
			j.Lines = append(j.Lines, r)
		}
	}
	return j
}

// has reports whether it is about a line.
func (f *Finished) has(line int) bool {
	return slices.ContainsFunc(f.Lines, func(r [2]int) bool { return r[0] <= line && line <= r[1] })
}

// combine takes a result of the same version. The order of calls makes no difference.
func (m *Meta) combine(r Result, at time.Time) {
	old, new := slices.Index(results, m.Result), slices.Index(results, r)
	if new > old || new == old && at.After(m.ResultAt) {
		m.Result, m.ResultAt = r, at
	}
}
