// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy"
)

// Entry is one intended deletion.
type Entry struct {
	policy.Target
	Rule    string // name of the rule that decided
	Outcome string // result of its outcome expression; empty without one
}

// Budget is how many deletions may end within any period as long as Window. A nil *Budget has no limit.
type Budget struct {
	Max    int64
	Window time.Duration
}

// DeleteResult is the result of a DELETE, as far as its sender knows. The zero value is Unknown.
type DeleteResult int

const (
	// Unknown: no response, or one that does not say whether the object was deleted: a timeout, a broken connection, any 5xx.
	Unknown DeleteResult = iota
	// Deleted: 2xx.
	Deleted
	// NotThere: 404, or a 409 that certainly means that the object has another UID.
	NotThere
	// Changed: a 409 that may mean the resourceVersion or the UID.
	Changed
	// Refused: any other response that certainly means that nothing was deleted: 400, 401, 403, 422, 429.
	Refused
)

// Observation is the result of a quorum read of an entry's object. The zero value means that nothing is known.
type Observation struct {
	Absent          bool // 404
	UID             types.UID
	ResourceVersion string
	Terminating     bool
}

// ObservationOf is the observation of an object that exists.
func ObservationOf(o metav1.Object) Observation {
	return Observation{UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Terminating: o.GetDeletionTimestamp() != nil}
}

// Shows reports whether the observation is the target itself: not terminating, and of the same version.
func (s Observation) Shows(t policy.Target) bool {
	return s == Observation{UID: t.UID, ResourceVersion: t.ResourceVersion}
}

// Gone reports whether the observation shows that the target no longer exists, or is terminating. It is false for the zero
// Observation.
func (s Observation) Gone(t policy.Target) bool { return s.end(t) == gone }

// end says how this observation ends the entry of t, whose DELETE may have had an effect but has no known result.
func (s Observation) end(t policy.Target) end {
	switch {
	case s.Absent:
		return gone
	case s.UID == "" || s.ResourceVersion == "":
		return none
	case s.UID != t.UID || s.Terminating:
		return gone
	case s.ResourceVersion != t.ResourceVersion:
		return void // a resourceVersion is never used again, so the old DELETE can only fail
	default:
		return none
	}
}

// end is how an entry ended.
type end int

const (
	none    end = iota // the entry is open
	void               // no DELETE of its version has had or can have an effect: not counted
	gone               // its object no longer exists: deleted by our DELETE or by another client
	deleted            // our DELETE deleted its object
)

// counts reports whether an entry with this end is counted and spent.
func (e end) counts() bool { return e == gone || e == deleted }

// state is the state of one open entry in a machine.
type state struct {
	Entry
	// doubtful: the entry was inherited, or a DELETE of ours has an unknown result. A doubtful entry stays doubtful.
	doubtful bool
	underWay bool      // a DELETE of ours was sent and has no response yet
	doubted  time.Time // the first BeginReads of a doubtful entry
	quiet    time.Time // the first BeginReads after our last DELETE, or after the ledger was sealed; zero before
	stopped  bool      // no more DELETE is sent, so that the doubt can end
	end      end
}

const (
	// RequestLife is longer than a DELETE can take from being sent to having its effect; docs/contributing/ledger-proof.md says why.
	RequestLife = 15 * time.Minute
	// sendAgainFor is how long DELETEs of a doubtful entry are sent again. After that the entry rests.
	sendAgainFor = 5 * time.Minute
)

// beginRead records when the leader begins to read the object.
func (s *state) beginRead(now time.Time) {
	if s.doubted.IsZero() {
		s.doubted = now
	}
	if s.quiet.IsZero() {
		s.quiet = now
	}
	s.stopped = s.stopped || elapsed(s.doubted, now) >= sendAgainFor
}

// outlived reports whether a read that began at this time began after every DELETE of the entry had its effect or can no longer
// have one.
func (s *state) outlived(began time.Time) bool {
	return !s.quiet.IsZero() && elapsed(s.quiet, began) >= RequestLife
}

// elapsed is the smaller duration of the monotonic clock and the wall clock, because the monotonic clock stops while a machine is
// suspended, and the wall clock can be set.
func elapsed(since, now time.Time) time.Duration {
	return min(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// idle reports whether the entry is open and no DELETE of ours is under way.
func (s *state) idle() bool { return s.end == none && !s.underWay }

// version is a version of an object, as a map key.
type version struct {
	uid             types.UID
	resourceVersion string
}

func versionOf(t policy.Target) version { return version{t.UID, t.ResourceVersion} }
