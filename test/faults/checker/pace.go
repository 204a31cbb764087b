// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Pace is the --max-deletions-per-second of the processes that act as one user.
type Pace struct {
	PerSecond float64
	Processes int // that ran one after the other; each starts with an empty limiter
}

// delayed is by how much the delays of two requests may differ, in addition to the window. An API server on a machine without free
// processors reads requests seconds after they were sent, many at a time.
const delayed = 5 * time.Second

// paced checks that no user sent DELETEs faster than its processes may.
func (j *checker) paced() {
	for user, pace := range j.Paces {
		var sent []history.Request
		for _, r := range j.Requests {
			if r.User == user && r.Verb == "delete" && r.Writes() && isSubject(r) {
				sent = append(sent, r)
			}
		}
		slices.SortFunc(sent, func(a, b history.Request) int { return cmp.Compare(j.Sent(a).UnixNano(), j.Sent(b).UnixNano()) })
		j.pacedFor(sent, pace)
	}
}

func (j *checker) pacedFor(sent []history.Request, pace Pace) {
	for from := range sent {
		for to := from + 1; to < len(sent); to++ {
			span := j.Sent(sent[to]).Sub(j.Sent(sent[from])) + j.Window + delayed
			if most := float64(pace.Processes) + pace.PerSecond*span.Seconds(); float64(to-from+1) > most {
				j.violated(Paced, sent[to], nil, 0, fmt.Sprintf("%d DELETEs within %s, but --max-deletions-per-second is %v", to-from+1,
					j.Sent(sent[to]).Sub(j.Sent(sent[from])), pace.PerSecond))
				return
			}
		}
	}
}
