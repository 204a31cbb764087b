package ledgers

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/ledger"
)

// request is one subject that is to be written down, or is.
type request struct {
	candidate retention.Candidate
	subject   subject
	owner     *policy.Target // what goes instead of the subject; nil for the subject itself

	writing bool         // it is in the draft that is being written
	stands  bool         // the entry was confirmed
	entry   ledger.Entry // once it has been in a draft
	sent    bool         // removal has been started
	since   time.Time    // when it began to stand
	slow    bool         // it has stood for slowAfter, and was not sent
}

// subject is the version of a subject that a request is about, and on what terms it goes. What was written down on other
// terms does not stand: its owner may have been allowed to go that may not any more.
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

// entryOf is what to write down for a request as of now, and about which version of the subject; false when that is not
// going to be removed by this policy, or may have another owner by now.
func (r *request) entryOf(policyUID types.UID) (e ledger.Entry, s subject, ok bool) {
	i, ok := r.candidate.Intent()
	if !ok || i.Rule.PolicyUID != policyUID {
		return e, s, false
	}
	e = ledger.Entry{Target: policy.TargetOf(i.Rule.Kind, i.Subject), Rule: i.Rule.ID.Rule, Outcome: i.Outcome}
	s = subjectOf(i)
	if r.owner != nil {
		e.Target = *r.owner
		return e, s, s == r.subject
	}
	return e, s, true
}

// stillWants reports whether what is written down for a request is still to be removed.
func (r *request) stillWants(policyUID types.UID) bool {
	e, s, ok := r.entryOf(policyUID)
	return ok && s == r.subject && e.Is(r.entry.Target)
}

// answerOf says what an attempt means for the ledger.
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
