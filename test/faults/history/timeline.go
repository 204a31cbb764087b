package history

import (
	"sort"
	"strconv"
	"time"
)

// Timeline says when a revision came to be, as closely as the audit logs tell: etcd itself keeps no times.
type Timeline struct {
	begun, ended []moment // by revision and by time, both ascending
}

type moment struct {
	revision int64
	at       time.Time
}

// NewTimeline reads the times from answers to writes: what answered with a revision was received before it came to be,
// and answered after.
func NewTimeline(requests []Request) *Timeline {
	first, last := map[int64]time.Time{}, map[int64]time.Time{}
	for _, r := range requests {
		revision, err := strconv.ParseInt(r.answer().Metadata.ResourceVersion, 10, 64)
		if err != nil || !r.Writes() || !r.Succeeded() || r.Answered.IsZero() {
			continue
		}
		if known, ok := last[revision]; !ok || r.Answered.Before(known) {
			last[revision] = r.Answered
		}
		if r.Verb == "delete" {
			continue // the answer may have the revision before
		}
		if known, ok := first[revision]; !ok || r.Received.Before(known) {
			first[revision] = r.Received // a write that changed nothing came after the one that did
		}
	}
	return &Timeline{begun: rising(first), ended: falling(last)}
}

// rising keeps of each moment the latest of all before it.
func rising(at map[int64]time.Time) []moment {
	moments := sorted(at)
	for i := 1; i < len(moments); i++ {
		if moments[i].at.Before(moments[i-1].at) {
			moments[i].at = moments[i-1].at
		}
	}
	return moments
}

// falling keeps of each moment the earliest of all after it.
func falling(at map[int64]time.Time) []moment {
	moments := sorted(at)
	for i := len(moments) - 2; i >= 0; i-- {
		if moments[i].at.After(moments[i+1].at) {
			moments[i].at = moments[i+1].at
		}
	}
	return moments
}

func sorted(at map[int64]time.Time) []moment {
	moments := make([]moment, 0, len(at))
	for revision, t := range at {
		moments = append(moments, moment{revision, t})
	}
	sort.Slice(moments, func(i, j int) bool { return moments[i].revision < moments[j].revision })
	return moments
}

// Earliest is a time before which a revision surely was not; zero if nothing is known.
func (t *Timeline) Earliest(revision int64) time.Time {
	n := sort.Search(len(t.begun), func(i int) bool { return t.begun[i].revision > revision })
	if n == 0 {
		return time.Time{}
	}
	return t.begun[n-1].at
}

// Latest is a time by which a revision surely was; false if nothing is known.
func (t *Timeline) Latest(revision int64) (time.Time, bool) {
	n := sort.Search(len(t.ended), func(i int) bool { return t.ended[i].revision >= revision })
	if n == len(t.ended) {
		return time.Time{}, false
	}
	return t.ended[n].at, true
}

// Passed is the last revision that surely was by a time; 0 if nothing is known.
func (t *Timeline) Passed(at time.Time) int64 {
	n := sort.Search(len(t.ended), func(i int) bool { return t.ended[i].at.After(at) })
	if n == 0 {
		return 0
	}
	return t.ended[n-1].revision
}
