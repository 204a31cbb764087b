package explain

import (
	"time"

	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
)

// References is what refers to a ConfigMap or Secret.
type References struct {
	Count int
	By    []engine.Referrer // the first of them, by kind, namespace and name
	Doubt error             // why there may be more; nil when there are not
	Since Since             // of what nothing refers to
}

// Since is since when the object is marked eligible, by a rule that asks what refers to it. It is zero where no such rule has
// marked it.
type Since struct {
	Time time.Time
	Rule policy.RuleID
}

// referrersShown is how many referrers a page names.
const referrersShown = 10

func (in *Input) references() *References {
	known := in.References
	if known == nil {
		return nil
	}
	r := &References{Count: known.Count, Doubt: known.Doubt}
	if known.By != nil {
		by := known.By()
		r.By = by[:min(len(by), referrersShown)]
	}
	if r.Count == 0 && r.Doubt == nil {
		r.Since = in.unreferencedSince()
	}
	return r
}

// unreferencedSince is the earliest mark by a rule that asks.
func (in *Input) unreferencedSince() (since Since) {
	for _, r := range in.Rulings {
		f := r.Facts
		isMark := r.Rule.ReadsReferences && f.Marked && f.Eligible && !f.Estimated && !f.Start.IsZero()
		if isMark && (since.Time.IsZero() || f.Start.Before(since.Time)) {
			since = Since{f.Start, r.Rule.ID}
		}
	}
	return since
}
