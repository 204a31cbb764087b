// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"
)

// Timeline returns when a revision was created, as precisely as the audit logs allow: etcd does not store times.
type Timeline struct {
	begun, ended []moment // ascending by revision and by time
}

type moment struct {
	revision int64
	at       time.Time
}

// NewTimeline reads the times from answers to writes. If a server answered with a revision, it received the request before
// the revision was created, and answered after that. An answer to a DELETE may have no revision, but the log has the revision
// of the deletion.
func NewTimeline(requests []Request, l *Log) *Timeline {
	first, last := map[int64]time.Time{}, map[int64]time.Time{}
	for _, r := range requests {
		if !r.Writes() || !r.Succeeded() || r.Answered.IsZero() {
			continue
		}
		revision, err := strconv.ParseInt(r.AnsweredVersion(), 10, 64)
		if r.Verb == "delete" {
			revision, err = l.endedBy(r)
		}
		if err != nil {
			continue
		}
		sooner(last, revision, r.Answered)
		if !r.changedNothing() {
			sooner(first, revision, r.Received) // if several requests answer with it, the first one wrote it
		}
	}
	t := &Timeline{ended: falling(last)}
	maps.DeleteFunc(first, func(revision int64, at time.Time) bool { // a patch that changed nothing
		by, known := t.Latest(revision)
		return known && at.After(by)
	})
	t.begun = rising(first)
	return t
}

// changedNothing reports whether an update was answered with the version that it was for. For patches this is unknown.
func (r Request) changedNothing() bool {
	var body answerFields
	return r.Verb == "update" && json.Unmarshal(r.Body, &body) == nil && body.Metadata.ResourceVersion == r.AnsweredVersion()
}

var errEndedNothing = errors.New("the DELETE ended no known object")

// endedBy returns the revision at which a DELETE ended an object: the version that it names, or else any.
func (l *Log) endedBy(r Request) (int64, error) {
	uid, version := r.Preconditions()
	if uid == "" {
		uid = r.AnsweredUID()
	}
	if end, ended := l.End(uid); ended && (version == "" || version == end.Before.GetResourceVersion()) {
		return end.Revision, nil
	}
	return 0, errEndedNothing
}

func sooner(times map[int64]time.Time, revision int64, at time.Time) {
	if known, ok := times[revision]; !ok || at.Before(known) {
		times[revision] = at
	}
}

// rising sets each moment to the latest time so far.
func rising(at map[int64]time.Time) []moment {
	moments := sorted(at)
	for i := 1; i < len(moments); i++ {
		if moments[i].at.Before(moments[i-1].at) {
			moments[i].at = moments[i-1].at
		}
	}
	return moments
}

// falling sets each moment to the earliest time of it and all later ones.
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
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.revision, b.revision) })
	return moments
}

// Earliest returns a time before which a revision certainly did not exist; zero if unknown.
func (t *Timeline) Earliest(revision int64) time.Time {
	n := sort.Search(len(t.begun), func(i int) bool { return t.begun[i].revision > revision })
	if n == 0 {
		return time.Time{}
	}
	return t.begun[n-1].at
}

// Latest returns a time at which a revision certainly existed; false if unknown.
func (t *Timeline) Latest(revision int64) (time.Time, bool) {
	n := sort.Search(len(t.ended), func(i int) bool { return t.ended[i].revision >= revision })
	if n == len(t.ended) {
		return time.Time{}, false
	}
	return t.ended[n].at, true
}

// Passed returns the last revision that certainly existed at a time; 0 if unknown.
func (t *Timeline) Passed(at time.Time) int64 {
	n := sort.Search(len(t.ended), func(i int) bool { return t.ended[i].at.After(at) })
	if n == 0 {
		return 0
	}
	return t.ended[n-1].revision
}
