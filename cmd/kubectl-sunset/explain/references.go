// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// References lists the objects that refer to a ConfigMap or Secret.
type References struct {
	Count   int               `json:"count"`
	By      []engine.Referrer `json:"by"`                // the first ones by kind, namespace and name
	Unknown string            `json:"unknown,omitempty"` // why there may be more; empty if the list is complete
	// Since is the time from which an unreferenced object is marked eligible by a rule that reads references; zero if no such
	// rule has marked it.
	Since preview.Time `json:"since,omitzero"`

	markedBy policy.RuleID // only with Since
}

// referrersShown limits the references on a page.
const referrersShown = 10

func (in *Input) references() *References {
	known := in.References
	if known == nil {
		return nil
	}
	r := &References{Count: known.Count, By: []engine.Referrer{}}
	if known.Incomplete != nil {
		r.Unknown = known.Incomplete.Error()
	}
	if known.By != nil {
		by := known.By()
		r.By = by[:min(len(by), referrersShown)]
	}
	if r.Count == 0 && known.Incomplete == nil {
		r.Since.Time, r.markedBy = in.unreferencedSince()
	}
	return r
}

// unreferencedSince returns the earliest mark by a rule that reads references.
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

// references writes the references to a ConfigMap or Secret.
func (e *textWriter) references(r *References) {
	if r == nil {
		return
	}
	e.title("Referenced by:")
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
