// SPDX-License-Identifier: Apache-2.0

package ledgers

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

// request is one subject that waits to be recorded, or is recorded. It is small, because a backlog has many that wait.
type request struct {
	candidate retention.Candidate
	namespace string
	uid       types.UID // of the subject
	owner     *owner    // what is deleted instead of the subject; nil for the subject itself
	recorded  *recorded // nil until it has been part of an update
}

// owner is the object to delete instead of a subject, found for one version of that.
type owner struct {
	policy.Target
	of subject
}

// recorded is what an update of the ledger has about a request.
type recorded struct {
	subject   subject
	entry     ledger.Entry
	writing   bool      // the update is being written
	putOff    bool      // the subject was put off during this write
	confirmed bool      // the API server has confirmed the entry
	sent      bool      // the DELETE has been sent
	since     time.Time // when the entry was confirmed
	slow      bool      // its entry was confirmed slowAfter ago, and it was not sent
}

// subject identifies the version of a subject, and the terms of its deletion. If the terms change, an entry no longer
// counts: the earlier terms may have permitted the deletion of an owner that the new ones keep.
type subject struct {
	Namespace       string
	UID             types.UID
	ResourceVersion string
	Rule, Outcome   string
	AllowUnfinished bool
}

func subjectOf(i policy.Intent) subject {
	return subject{
		Namespace: i.Subject.Namespace, UID: i.Subject.UID, ResourceVersion: i.Subject.ResourceVersion,
		Rule: i.Rule.ID.Rule, Outcome: i.Outcome, AllowUnfinished: i.Rule.AllowUnfinished,
	}
}

// entryOf returns the entry to write for a request now, and the version of the subject that it is about. It returns false
// if this policy will not delete the subject soon, or if the subject may have another owner now.
func (r *request) entryOf(policyUID types.UID) (e ledger.Entry, s subject, ok bool) {
	i, ok := r.candidate.Intent()
	if !ok || i.Rule.PolicyUID != policyUID {
		return e, s, false
	}
	e = ledger.Entry{Target: policy.TargetOf(i.Rule.Kind, i.Subject), Rule: i.Rule.ID.Rule, Outcome: i.Outcome}
	s = subjectOf(i)
	if r.owner != nil {
		e.Target = r.owner.Target
		return e, s, s == r.owner.of
	}
	return e, s, true
}

// stillWants reports whether the recorded target of a request is still to be deleted.
func (r *request) stillWants(policyUID types.UID) bool {
	e, s, ok := r.entryOf(policyUID)
	return ok && s == r.recorded.subject && e.Is(r.recorded.entry.Target)
}

// isWriting reports whether the entry of a request is being written.
func (r *request) isWriting() bool { return r.recorded != nil && r.recorded.writing }

// isConfirmed reports whether the API server has confirmed the entry of a request.
func (r *request) isConfirmed() bool { return r.recorded != nil && r.recorded.confirmed }

// answerOf converts the result of an attempt for the ledger.
func answerOf(o retention.Outcome) ledger.DeleteResult {
	switch {
	case o.Unsent:
		return ledger.Refused
	case o.Unsure:
		return ledger.Unknown
	case o.Result == retention.Removed:
		return ledger.Deleted
	case o.Result == retention.Gone:
		return ledger.NotThere
	case o.Result == retention.Changed:
		return ledger.Changed
	default:
		return ledger.Refused
	}
}
