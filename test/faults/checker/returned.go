// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Sunset may keep an object that was recreated this many times in a row, each time this soon after its deletion (reason
// Recreated).
const (
	loopAfter     = 3
	returnsWithin = time.Minute
)

// mayLoop reports whether Sunset may keep an object because objects with its name were recreated as fast as Sunset deleted
// them. Sunset may also delete the object, because edits and restarts reset the count.
func (j *checker) mayLoop(s *history.State) bool {
	returns := 0
	var last history.Change // the previous deletion of the name
	for _, c := range j.Log.Of(s.Key) {
		switch {
		case c.Revision > s.Revision:
			return returns >= loopAfter
		case c.Gone():
			last = c
		case c.Before == nil && last.Before != nil && j.sentDelete(last.Before.GetUID()) && j.follows(c, last):
			returns++
		case c.Before == nil:
			returns = 0
		}
	}
	return returns >= loopAfter
}

// follows reports whether a change may have happened within returnsWithin after another.
func (j *checker) follows(c, last history.Change) bool {
	gone, known := j.times.Latest(last.Revision)
	return !known || j.times.Earliest(c.Revision).Sub(gone) <= returnsWithin
}

// sentDelete reports whether Sunset sent a DELETE for an object.
func (j *checker) sentDelete(uid types.UID) bool {
	return slices.ContainsFunc(j.Requests, func(r history.Request) bool {
		named, _ := conditions(r)
		return r.Verb == "delete" && named == uid && j.isOurs(r)
	})
}
