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
// Results combine: of several results of one version, Deleted wins, then Gone, Kept and Unknown.
type Result string

// The results.
const (
	Unknown Result = "unknown" // the request had no definite answer
	Kept    Result = "kept"    // this version was not deleted: it changed, or something keeps it
	Gone    Result = "gone"    // another client deleted it
	Deleted Result = "deleted" // the API server accepted the request
)

// results are in the order in which they win. A result that this version does not know is as Unknown.
var results = []Result{"", Unknown, Kept, Gone, Deleted}

// known is a result and its time, as they combine.
type known struct {
	result Result
	at     time.Time
}

// combine is commutative, associative and idempotent, so that index objects can be read in any order and twice.
func (k known) combine(o known) known {
	switch a, b := k.weight(), o.weight(); {
	case a > b || a == b && k.result == o.result && !k.at.Before(o.at):
		return k
	case a == b && k.result > o.result:
		return k
	default:
		return o
	}
}

func (k known) weight() int {
	if i := slices.Index(results, k.result); i >= 0 {
		return i
	}
	return slices.Index(results, Unknown)
}

// Finished tells what happened to records. It is one line of an index object. It names lines of a segment; or, for a record of an
// earlier process, UID and resourceVersion.
type Finished struct {
	Result          Result    `json:"result"`
	At              time.Time `json:"resultTime"`      // of the latest of them
	Of              string    `json:"of,omitempty"`    // name of the segment
	Lines           [][2]int  `json:"lines,omitempty"` // first and last line of each range
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
}

// place is a line of a segment.
type place struct {
	segment string
	line    int
}

// version identifies one version of an object.
type version struct {
	uid             types.UID
	resourceVersion string
}

// pendingResults are results that are to be written.
type pendingResults struct {
	lines    map[string][]known // by segment, then by line
	versions map[version]known
}

func (p *pendingResults) addLine(at place, k known) {
	if p.lines == nil {
		p.lines = map[string][]known{}
	}
	of := p.lines[at.segment]
	if n := at.line + 1 - len(of); n > 0 {
		of = append(of, make([]known, n)...)
	}
	of[at.line] = of[at.line].combine(k)
	p.lines[at.segment] = of
}

func (p *pendingResults) addVersion(v version, k known) {
	if p.versions == nil {
		p.versions = map[version]known{}
	}
	p.versions[v] = p.versions[v].combine(k)
}

// list is the lines to write, in a definite order.
func (p *pendingResults) list() []Finished {
	var all []Finished
	for segment, lines := range p.lines {
		for _, r := range results[1:] {
			if f := finishedOf(segment, lines, r); f.Lines != nil {
				all = append(all, f)
			}
		}
	}
	for v, k := range p.versions {
		all = append(all, Finished{Result: k.result, At: k.at, UID: v.uid, ResourceVersion: v.resourceVersion})
	}
	slices.SortFunc(all, compareFinished)
	return all
}

// finishedOf has the lines of a segment with one result.
func finishedOf(segment string, lines []known, r Result) Finished {
	f := Finished{Result: r, Of: segment}
	for i, k := range lines {
		if k.result != r {
			continue
		}
		if k.at.After(f.At) {
			f.At = k.at
		}
		if n := len(f.Lines); n > 0 && f.Lines[n-1][1] == i-1 {
			f.Lines[n-1][1] = i
		} else {
			f.Lines = append(f.Lines, [2]int{i, i})
		}
	}
	return f
}

func compareFinished(a, b Finished) int {
	return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.UID, b.UID), cmp.Compare(a.ResourceVersion, b.ResourceVersion), cmp.Compare(a.Result, b.Result))
}

// outcomes are results that were read.
type outcomes struct {
	segments map[string][]Finished
	versions map[version]known
}

func (o *outcomes) add(f Finished) {
	if o.segments == nil {
		o.segments, o.versions = map[string][]Finished{}, map[version]known{}
	}
	if f.Of != "" {
		o.segments[f.Of] = append(o.segments[f.Of], f)
	}
	if f.UID != "" {
		v := version{f.UID, f.ResourceVersion}
		o.versions[v] = o.versions[v].combine(known{f.Result, f.At})
	}
}

// of is the result of a record.
func (o *outcomes) of(m Meta) known {
	k := o.versions[version{m.UID, m.ResourceVersion}]
	for _, f := range o.segments[m.Segment] {
		if slices.ContainsFunc(f.Lines, func(r [2]int) bool { return r[0] <= m.Line && m.Line <= r[1] }) {
			k = k.combine(known{f.Result, f.At})
		}
	}
	return k
}
