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
	Outcome string // what its outcome expression gave; empty without one
}

// Budget is how many deletions may end in any span as long as Window. A nil *Budget bounds nothing.
type Budget struct {
	Max    int64
	Window time.Duration
}

// DeleteResult is how a DELETE went, as far as its sender knows. The zero value is doubt.
type DeleteResult int

const (
	// Unknown: no answer, or one that does not say: a timeout, a broken connection, any 5xx.
	Unknown DeleteResult = iota
	// Deleted: 2xx.
	Deleted
	// NotThere: 404, or a 409 that certainly says that the object has another UID.
	NotThere
	// Changed: a 409 that may be about the resourceVersion or about the UID.
	Changed
	// Refused: any other answer that surely deleted nothing: 400, 401, 403, 422, 429.
	Refused
)

// Observation is what a quorum read of an entry's object showed. The zero value shows nothing.
type Observation struct {
	Absent          bool // 404
	UID             types.UID
	ResourceVersion string
	Terminating     bool
}

// SightOf is the sight of an object that is there.
func SightOf(o metav1.Object) Observation {
	return Observation{UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Terminating: o.GetDeletionTimestamp() != nil}
}

// Shows reports whether it shows a target as it is: alive, and of that version.
func (s Observation) Shows(t policy.Target) bool {
	return s == Observation{UID: t.UID, ResourceVersion: t.ResourceVersion}
}

// end says how the object of an entry showing s ends that entry, whose DELETE nobody saw the answer to.
func (s Observation) end(t policy.Target) end {
	switch {
	case s.Absent:
		return gone
	case s.UID == "" || s.ResourceVersion == "":
		return none
	case s.UID != t.UID || s.Terminating:
		return gone
	case s.ResourceVersion != t.ResourceVersion:
		return void // versions never come back: the old DELETE can only fail
	default:
		return none
	}
}

// end is how an entry ended.
type end int

const (
	none    end = iota // it is open
	void               // no DELETE of its version has done or can do anything: not counted
	gone               // its object went, by our DELETE or by somebody else's
	deleted            // its object went by our DELETE
)

// counts reports whether what ends so is counted and spent.
func (e end) counts() bool { return e == gone || e == deleted }

// state is what a keeper knows about one open entry.
type state struct {
	Entry
	// doubtful: it was inherited, or a DELETE of ours has an answer that nobody saw. It never becomes certain again.
	doubtful bool
	underWay bool      // a DELETE of ours has been sent and not answered
	doubted  time.Time // of a doubtful one: the first Look at it
	quiet    time.Time // the first Look since the last DELETE of ours, or since the ledger is ours; zero before
	rests    bool      // no DELETE is sent any more, so that the doubt can end
	end      end
}

const (
	// RequestLife is longer than any DELETE can take from being sent to being carried out: docs/ledger.md says why.
	RequestLife = 15 * time.Minute
	// sendAgainFor is how long DELETEs of a doubtful entry are sent again. Then it rests.
	sendAgainFor = 5 * time.Minute
)

// look records when the leader begins to read the object.
func (s *state) look(now time.Time) {
	if s.doubted.IsZero() {
		s.doubted = now
	}
	if s.quiet.IsZero() {
		s.quiet = now
	}
	s.rests = s.rests || elapsed(s.doubted, now) >= sendAgainFor
}

// outlived reports whether a read that began at a time began after every DELETE of the entry that was ever sent had been
// carried out or can only be dropped.
func (s *state) outlived(began time.Time) bool {
	return !s.quiet.IsZero() && elapsed(s.quiet, began) >= RequestLife
}

// elapsed is the lesser of what the monotonic clock and the wall clock say: the one stands still while a machine is suspended,
// the other can be set.
func elapsed(since, now time.Time) time.Duration {
	return min(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// idle reports whether nothing is known to happen to it.
func (s *state) idle() bool { return s.end == none && !s.underWay }

// version is a version of an object, as a key.
type version struct {
	uid             types.UID
	resourceVersion string
}

func versionOf(t policy.Target) version { return version{t.UID, t.ResourceVersion} }
