// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	receiptsMost = 100_000     // receipts that one worker holds
	receiptLife  = time.Hour   // after that an object is recorded again
	contentLife  = time.Minute // the same for a record with dependents, Events or logs, which change although the object does not
	deleteMost   = time.Minute // from the use of a receipt until the request to delete certainly has a result
)

// receipts are the records that were verified and whose objects were not deleted yet, as far as is known.
type receipts struct {
	now        func() time.Time
	recipients []string // of the RetentionArchive; receipts for records that are encrypted otherwise are not used
	by         map[types.UID]*receipt
	order      []*receipt // by time; includes some that are no longer in the map
}

// receipt is where the record of a target is.
type receipt struct {
	target     policy.Target
	archive    *policy.Archive // its settings
	recipients []string        // of the segment
	segment    string
	line       int
	at         time.Time
	used       time.Time // when it was last returned, so that a request to delete may be in flight; zero after its result
	unsure     bool      // a DELETE had no definite answer
}

func newReceipts(now func() time.Time, recipients []string) receipts {
	return receipts{now: now, recipients: recipients, by: map[types.UID]*receipt{}}
}

func (s *receipts) len() int { return len(s.by) }

// life is how long a receipt is used.
func (r *receipt) life() time.Duration {
	if len(r.archive.Dependents) > 0 || r.archive.Events || r.archive.Logs != nil {
		return contentLife
	}
	return receiptLife
}

// inFlight reports whether a request to delete by this receipt may have no result yet.
func (r *receipt) inFlight(now time.Time) bool {
	return !r.used.IsZero() && now.Sub(r.used) < deleteMost
}

// of returns the receipt for exactly this version of a target.
func (s *receipts) of(t policy.Target) (policy.Receipt, bool) {
	r := s.by[t.UID]
	if r == nil || !r.target.Is(t) || s.now().Sub(r.at) >= r.life() || !slices.Equal(r.recipients, s.recipients) {
		return policy.Receipt{}, false
	}
	return policy.Receipt{Target: r.target, Archive: r.archive, Segment: r.segment, Line: r.line, At: r.at}, true
}

// use notes that a request to delete a target may be sent now.
func (s *receipts) use(t policy.Target) { s.by[t.UID].used = s.now() }

// inFlight reports whether a request to delete may have no result yet.
func (s *receipts) inFlight() bool {
	now := s.now()
	for _, r := range s.by {
		if r.inFlight(now) {
			return true
		}
	}
	return false
}

// add adds a receipt. It returns the one of another version that it replaces, or nil. What happens to the version is the result of
// all its records.
func (s *receipts) add(r *receipt) (replaced *receipt) {
	old := s.by[r.target.UID]
	s.by[r.target.UID] = r
	s.order = append(s.order, r)
	if old != nil && old.target.Is(r.target) {
		r.used, r.unsure = old.used, old.unsure
		return nil
	}
	return old
}

// finish takes the result of a DELETE. It returns the receipt and the result to write; an empty result if it is not final.
func (s *receipts) finish(t policy.Target, o retention.Outcome) (receipt, archive.Result) {
	r := s.by[t.UID]
	if r == nil || !r.target.Is(t) {
		return receipt{}, ""
	}
	r.used = time.Time{}
	var result archive.Result
	switch {
	case o.Unsent:
		return *r, ""
	case o.Unsure:
		r.unsure = true
		return *r, archive.Unknown
	case o.Result == retention.Removed:
		result = archive.Deleted
	case o.Result == retention.Gone: // an earlier request, also of an earlier leader, may have deleted it
		result = archive.Gone
	case o.Result == retention.Changed && r.unsure: // the change may be the beginning of the deletion; see settle
		return *r, ""
	case o.Result == retention.Changed:
		result = archive.Kept
	default:
		return *r, "" // this version may still be deleted
	}
	delete(s.by, t.UID)
	return *r, result
}

// settle takes what has become of a target whose DELETE had no definite answer.
func (s *receipts) settle(t policy.Target, gone bool) {
	if r := s.by[t.UID]; r != nil && r.target.Is(t) {
		if r.unsure = false; gone {
			delete(s.by, t.UID)
		}
	}
}

// expire removes the receipts that are too old or too many, except those whose request to delete may have a result later.
func (s *receipts) expire(now time.Time) (expired []*receipt) {
	var left []*receipt
	n := 0
	for ; n < len(s.order); n++ {
		r := s.order[n]
		if s.by[r.target.UID] != r {
			continue
		}
		if now.Sub(r.at) < r.life() && len(s.by) <= receiptsMost {
			break
		}
		if r.inFlight(now) {
			left = append(left, r)
			continue
		}
		delete(s.by, r.target.UID)
		expired = append(expired, r)
	}
	clear(s.order[:n])
	if s.order = s.order[n:]; len(left) > 0 {
		s.order = append(left, s.order...)
	}
	if len(s.order) > 2*len(s.by)+1024 {
		s.compact()
	}
	return expired
}

// compact drops the receipts that are no longer in the map from the order.
func (s *receipts) compact() {
	kept := make([]*receipt, 0, len(s.by))
	for _, r := range s.order {
		if s.by[r.target.UID] == r {
			kept = append(kept, r)
		}
	}
	s.order = kept
}
