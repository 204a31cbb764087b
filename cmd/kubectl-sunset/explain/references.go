// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// References lists the objects that refer to an object.
type References struct {
	Count   int               `json:"count"`
	By      []engine.Referrer `json:"by"`                // the first ones by kind, namespace and name
	Unknown string            `json:"unknown,omitempty"` // why there may be more; empty if the list is complete
	// Since is the time from which an unreferenced object is marked eligible by a rule that reads references; zero if no such
	// rule has marked it.
	Since preview.Time `json:"since,omitzero"`

	markedBy policy.RuleID // only with Since
}

// Targets lists the objects that an object refers to and that do not exist.
type Targets struct {
	Count   int               `json:"count"`             // of all objects that it refers to
	Missing []engine.Referrer `json:"missing"`           // the first ones by kind, namespace and name
	More    int               `json:"more,omitempty"`    // number of missing ones that are not in the list
	Unknown string            `json:"unknown,omitempty"` // why the list may be wrong; empty if it is not
}

// Selected counts the objects that the label selector of an object matches.
type Selected struct {
	Count   int    `json:"count"`
	Unknown string `json:"unknown,omitempty"` // why the number may be wrong; empty if it is not
}

// referrersShown limits the references on a page.
const referrersShown = 10

// relate sets what rules ask about other objects.
func (in *Input) relate(p *Page) {
	known := in.References
	if known == nil {
		return
	}
	if in.Asked.Has(policy.AsksReferences) {
		p.References = &References{Count: known.Count, By: []engine.Referrer{}, Unknown: textOf(known.Unknown(policy.AsksReferences))}
		if known.By != nil {
			p.References.By = first(known.By())
		}
		if known.Count == 0 && p.References.Unknown == "" {
			p.References.Since.Time, p.References.markedBy = in.unreferencedSince()
		}
	}
	if in.Asked.Has(policy.AsksTargets) && known.Missing != nil {
		missing := known.Missing()
		p.Targets = &Targets{Count: known.Targets, Missing: first(missing), Unknown: textOf(known.Unknown(policy.AsksTargets))}
		p.Targets.More = len(missing) - len(p.Targets.Missing)
	}
	if in.Asked.Has(policy.AsksSelected) {
		p.Selected = &Selected{known.Selected, textOf(known.Unknown(policy.AsksSelected))}
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func first(all []engine.Referrer) []engine.Referrer { return all[:min(len(all), referrersShown)] }

// unreferencedSince returns the earliest mark by a rule that reads references.
func (in *Input) unreferencedSince() (since time.Time, rule policy.RuleID) {
	for _, r := range in.Evaluations {
		f := r.Facts
		isMark := r.Rule.ReadsReferences() && f.Marked && f.Eligible && !f.Estimated && !f.Start.IsZero()
		if isMark && (since.IsZero() || f.Start.Before(since)) {
			since, rule = f.Start, r.Rule.ID
		}
	}
	return since, rule
}

// references writes the references to an object.
func (e *textWriter) references(r *References) {
	if r == nil {
		return
	}
	e.title("Referenced by:")
	e.objects(r.By, r.Count-len(r.By))
	switch {
	case r.Unknown != "":
		e.line(2, "there may be more: %s", r.Unknown)
	case r.Count == 0 && !r.Since.IsZero():
		e.line(2, "nothing; marked eligible by %s since %s", r.markedBy, moment(r.Since.Time, e.at))
	case r.Count == 0:
		e.line(2, "nothing")
	}
}

// targets writes which targets of an object do not exist.
func (e *textWriter) targets(t *Targets) {
	if t == nil {
		return
	}
	e.title("Refers to objects that do not exist:")
	e.objects(t.Missing, t.More)
	switch {
	case t.Unknown != "":
		e.line(2, "this is uncertain: %s", t.Unknown)
	case len(t.Missing) == 0:
		e.line(2, "none of %d", t.Count)
	}
}

// selected writes how many objects the label selector of an object matches.
func (e *textWriter) selected(s *Selected) {
	if s == nil {
		return
	}
	e.title("Selects:")
	if s.Count == 1 {
		e.line(2, "1 Pod or Pod template")
	} else {
		e.line(2, "%d Pods and Pod templates", s.Count)
	}
	if s.Unknown != "" {
		e.line(2, "this is uncertain: %s", s.Unknown)
	}
}

func (e *textWriter) objects(all []engine.Referrer, more int) {
	for _, o := range all {
		e.line(2, "%s %s", o.Kind, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
	}
	if more > 0 {
		e.line(2, "and %d more", more)
	}
}
