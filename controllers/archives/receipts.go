// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	receiptsMost = 100_000   // receipts that one worker holds
	receiptLife  = time.Hour // after that an object is recorded again, because its dependents and logs may have changed
)

// receipts are the records that were verified and whose objects were not deleted yet, as far as is known.
type receipts struct {
	by    map[types.UID]*receipt
	order []*receipt // by time; includes some that are no longer in the map
}

// receipt is where the record of a target is.
type receipt struct {
	target  policy.Target
	archive *policy.Archive // its settings
	segment string
	line    int
	at      time.Time
	unsure  bool // a DELETE had no definite answer
}

func newReceipts() receipts { return receipts{by: map[types.UID]*receipt{}} }

func (s *receipts) len() int { return len(s.by) }

// of returns the receipt for exactly this version of a target.
func (s *receipts) of(t policy.Target) (policy.Receipt, bool) {
	r := s.by[t.UID]
	if r == nil || !r.target.Is(t) {
		return policy.Receipt{}, false
	}
	return policy.Receipt{Target: r.target, Archive: r.archive, Segment: r.segment, Line: r.line, At: r.at}, true
}

// add adds a receipt. It returns the one that it replaces, or nil.
func (s *receipts) add(r *receipt) (replaced *receipt) {
	replaced = s.by[r.target.UID]
	s.by[r.target.UID] = r
	s.order = append(s.order, r)
	return replaced
}

// finish takes the result of a DELETE. It returns the receipt and the result to write; an empty result if it is not final.
func (s *receipts) finish(t policy.Target, o retention.Outcome) (receipt, archive.Result) {
	r := s.by[t.UID]
	if r == nil || !r.target.Is(t) || o.Unsent {
		return receipt{}, ""
	}
	if o.Unsure {
		r.unsure = true
		return *r, archive.Unknown
	}
	var result archive.Result
	switch {
	case o.Result == retention.Removed:
		result = archive.Deleted
	case o.Result == retention.Gone && r.unsure: // as the ledger counts it
		result = archive.Gone
	case o.Result == retention.Gone, o.Result == retention.Changed:
		result = archive.Kept
	default:
		return *r, "" // this version may still be deleted
	}
	delete(s.by, t.UID)
	return *r, result
}

// expire removes the receipts that are too old or too many. Nothing deleted their objects, unless they are unsure.
func (s *receipts) expire(now time.Time) (expired []*receipt) {
	n := 0
	for ; n < len(s.order); n++ {
		r := s.order[n]
		if s.by[r.target.UID] != r {
			continue
		}
		if now.Sub(r.at) < receiptLife && len(s.by) <= receiptsMost {
			break
		}
		delete(s.by, r.target.UID)
		expired = append(expired, r)
	}
	clear(s.order[:n])
	s.order = s.order[n:]
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
