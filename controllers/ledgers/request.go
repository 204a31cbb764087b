package ledgers

import (
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
	ahead     bool           // it was not due yet when it was asked for

	writing bool         // it is in the draft that is being written
	stands  bool         // the entry was confirmed
	entry   ledger.Entry // once it has been in a draft
	sent    bool         // removal has been started
	aged    bool         // it stood at the last sweep, and was not sent
}

// subject is the version of a subject that a request is about.
type subject struct {
	Namespace       string
	UID             types.UID
	ResourceVersion string
}

func subjectOf(s policy.Subject) subject {
	return subject{Namespace: s.Namespace, UID: s.UID, ResourceVersion: s.ResourceVersion}
}

// entryOf is what to write down for a request as of now; false when its subject is not going to be removed by this policy,
// or is another version by now.
func (r *request) entryOf(policyUID types.UID) (ledger.Entry, bool) {
	i, ok := r.candidate.Intent()
	if !ok || i.Rule.PolicyUID != policyUID {
		return ledger.Entry{}, false
	}
	e := ledger.Entry{Target: policy.TargetOf(i.Rule.Kind, i.Subject), Rule: i.Rule.ID.Rule, Outcome: i.Outcome}
	if r.owner != nil {
		if i.Subject.ResourceVersion != r.subject.ResourceVersion {
			return ledger.Entry{}, false // it may have another owner
		}
		e.Target = *r.owner
	}
	r.subject = subjectOf(i.Subject)
	return e, true
}

// answerOf says what an attempt means for the ledger.
func answerOf(o retention.Outcome) ledger.Answer {
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
