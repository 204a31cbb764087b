// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/archive"
)

const (
	receiptsMost = 100_000        // receipts that one worker holds
	receiptLife  = time.Hour      // after that an object is recorded again
	contentLife  = time.Minute    // the same for a record with dependents, Events or logs, which change although the object does not
	lifeMost     = 12 * time.Hour // of both; shorter than the minimum of spec.retain
	deleteMost   = time.Minute    // from the use of a receipt until the request to delete certainly has a result
)

// receipts are the records that were verified and whose objects were not deleted yet, as far as is known.
type receipts struct {
	now        func() time.Time
	recipients []string // of the RetentionArchive; receipts for records that are encrypted otherwise are not used
	by         map[types.UID]*receipt
}

// receipt is a policy.Receipt, and what is known about the deletion of its object. It is small: a backlog has many.
type receipt struct {
	*batch
	uid           types.UID
	name, version string
	line          int
	at            time.Time
	life          time.Duration
	used          time.Time // when it was last returned, so that a request to delete may be in flight; zero after its result
	unsure        bool      // a DELETE had no definite answer
}

// batch is what successive records of a segment have in common.
type batch struct {
	groupKey
	rule       policy.RuleID
	policyUID  types.UID
	segment    string
	recipients []string // of the segment
}

// batchOf returns the batch of a request: that of the record before it in the segment, if they have everything in common.
func batchOf(r *request, segment string, before *batch) *batch {
	if before != nil && before.groupKey == r.key && before.rule == r.recorded.ID && before.policyUID == r.recorded.PolicyUID &&
		slices.Equal(before.recipients, r.recipients) {
		return before
	}
	return &batch{groupKey: r.key, rule: r.recorded.ID, policyUID: r.recorded.PolicyUID, segment: segment, recipients: r.recipients}
}

func (r *receipt) target() policy.Target {
	return policy.Target{Kind: r.kind, Namespace: r.namespace, Name: r.name, UID: r.uid, ResourceVersion: r.version}
}

func (r *receipt) export() policy.Receipt {
	return policy.Receipt{
		Target: r.target(), Rule: r.rule, PolicyUID: r.policyUID, Archive: r.settings, Segment: r.segment, Line: r.line, At: r.at,
	}
}

func newReceipts(now func() time.Time, recipients []string) receipts {
	return receipts{now: now, recipients: recipients, by: map[types.UID]*receipt{}}
}

// lifeOf is how long a receipt is used. It doubles with each record of an object that waits long for its deletion, because of rate
// limits for example: otherwise all its receipts could expire before its turn. So dependents, Events and logs in a record are at most
// about as old as the object has waited.
func lifeOf(a *policy.Archive, records int) time.Duration {
	life := receiptLife
	if len(a.Dependents) > 0 || a.Events || a.Logs != nil {
		life = contentLife
	}
	return min(life<<min(records-1, 10), lifeMost)
}

// inFlight reports whether a request to delete by this receipt may have no result yet.
func (r *receipt) inFlight(now time.Time) bool {
	return !r.used.IsZero() && now.Sub(r.used) < deleteMost
}

// of returns the receipt for exactly this version of a target.
func (s *receipts) of(t policy.Target) (policy.Receipt, bool) {
	r := s.find(t)
	if r == nil || s.now().Sub(r.at) >= r.life || !slices.Equal(r.recipients, s.recipients) {
		return policy.Receipt{}, false
	}
	return r.export(), true
}

func (s *receipts) find(t policy.Target) *receipt {
	if r := s.by[t.UID]; r != nil && r.target().Is(t) {
		return r
	}
	return nil
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

// add adds a receipt. It returns the one of another version or rule that it replaces, or nil. All records of a version
// by one rule have the same result.
func (s *receipts) add(r *receipt) (replaced *receipt) {
	old := s.by[r.uid]
	s.by[r.uid] = r
	if old != nil && old.target().Is(r.target()) {
		r.used, r.unsure = old.used, old.unsure
		if old.rule == r.rule && old.policyUID == r.policyUID {
			return nil
		}
	}
	return old
}

// finish takes the result of a DELETE. It returns the receipt and the result to write; an empty result if it is not final.
func (s *receipts) finish(t policy.Target, o retention.Outcome) (r *receipt, result archive.Result) {
	if r = s.find(t); r == nil {
		return nil, ""
	}
	r.used = time.Time{}
	switch {
	case o.Unsent:
		return r, ""
	case o.Unsure:
		r.unsure = true
		return r, archive.Unknown
	case o.Result == retention.Removed:
		result = archive.Deleted
	case o.Result == retention.Gone && r.unsure:
		result = archive.Gone
	case o.Result == retention.Gone: // if a request of an earlier leader may have deleted it, the ledger says so: see Manager.Gone
		result = archive.Absent
	case o.Result == retention.Changed && !r.unsure: // otherwise the change may be the beginning of the deletion; see settle
		result = archive.Kept
	default:
		return r, "" // this version may still be deleted
	}
	delete(s.by, t.UID)
	return r, result
}

// settle takes what has become of a target whose DELETE had no definite answer.
func (s *receipts) settle(t policy.Target, gone bool) {
	if r := s.find(t); r != nil {
		if r.unsure = false; gone {
			delete(s.by, t.UID)
		}
	}
}

// expire removes the receipts that are too old or too many, except those whose request to delete may have a result later.
func (s *receipts) expire(now time.Time) (expired []*receipt) {
	maps.DeleteFunc(s.by, func(_ types.UID, r *receipt) bool {
		old := now.Sub(r.at) >= r.life && !r.inFlight(now)
		if old {
			expired = append(expired, r)
		}
		return old
	})
	if excess := len(s.by) - receiptsMost; excess > 0 {
		oldest := slices.SortedFunc(maps.Values(s.by), func(a, b *receipt) int { return a.at.Compare(b.at) })
		for _, r := range oldest[:excess] {
			if !r.inFlight(now) {
				delete(s.by, r.uid)
				expired = append(expired, r)
			}
		}
	}
	return expired
}
