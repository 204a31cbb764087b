package explain

import (
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// References is what refers to a ConfigMap or Secret.
type References struct {
	Count   int               `json:"count"`
	By      []engine.Referrer `json:"by"`                // the first of them, by kind, namespace and name
	Unknown string            `json:"unknown,omitempty"` // why there may be more
	// Since is since when an object to which nothing refers is marked eligible, by a rule that reads references; zero where no such
	// rule has marked it.
	Since preview.Time `json:"since,omitzero"`

	markedBy policy.RuleID // with Since only
}

// referrersShown is how many referrers a page names.
const referrersShown = 10

func (in *Input) references() *References {
	known := in.References
	if known == nil {
		return nil
	}
	r := &References{Count: known.Count, By: []engine.Referrer{}}
	if known.Doubt != nil {
		r.Unknown = known.Doubt.Error()
	}
	if known.By != nil {
		by := known.By()
		r.By = by[:min(len(by), referrersShown)]
	}
	if r.Count == 0 && known.Doubt == nil {
		r.Since.Time, r.markedBy = in.unreferencedSince()
	}
	return r
}

// unreferencedSince is the earliest mark by a rule that asks.
func (in *Input) unreferencedSince() (since time.Time, rule policy.RuleID) {
	for _, r := range in.Evaluations {
		f := r.Facts
		isMark := r.Rule.ReadsReferences && f.Marked && f.Eligible && !f.Estimated && !f.Start.IsZero()
		if isMark && (since.IsZero() || f.Start.Before(since)) {
			since, rule = f.Start, r.Rule.ID
		}
	}
	return since, rule
}

// references are what refers to a ConfigMap or Secret, or that nothing does.
func (e *textWriter) references(r *References) {
	if r == nil {
		return
	}
	e.title("What refers to it:")
	for _, by := range r.By {
		e.line(2, "%s %s", by.Kind, strings.TrimPrefix(by.Namespace+"/"+by.Name, "/"))
	}
	if more := r.Count - len(r.By); more > 0 {
		e.line(2, "and %d more", more)
	}
	switch {
	case r.Unknown != "":
		e.line(2, "there may be more: %s", r.Unknown)
	case r.Count == 0 && !r.Since.IsZero():
		e.line(2, "nothing; marked eligible by %s since %s", r.markedBy, moment(r.Since.Time, e.at))
	case r.Count == 0:
		e.line(2, "nothing")
	}
}
