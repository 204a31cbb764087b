// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strconv"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Setting is a setting of a rule as it applies to the object.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"` // where it is set
	Note  string `json:"note,omitempty"` // other values, and the allowed ones
}

// theRule is the source of a setting without overrides.
const theRule = "the rule"

func settingsOf(s policy.Subject, r policy.Evaluation, at time.Time) []Setting {
	all := startOf(r)
	if !r.Rule.HasTTLExpression || r.Facts.Eligible && r.Facts.Err == nil {
		all = append(all, ttlOf(s, r))
	}
	all = append(all, keepOf(r.Rule)...)
	all = append(all, capacityOf(r.Rule)...)
	all = append(all, timesOf(r.Rule, at)...)
	return append(all, suspensionOf(r.Rule)...)
}

// startOf returns when the time to live starts by a rule without startTime.
func startOf(r policy.Evaluation) []Setting {
	f := r.Facts
	if !f.Marked || !f.Eligible {
		return nil
	}
	start := Setting{Name: "start", Value: f.Start.UTC().Format(time.RFC3339), From: "annotation " + v1alpha1.EligibleSinceAnnotation}
	switch {
	case f.Start.IsZero():
		start.Value = "none"
	case f.Estimated:
		start.From, start.Note = "the evaluation time", "the object has no mark yet"
	case !f.EarlierMark.IsZero():
		start.From, start.Note = "condition Unused", "the mark is from "+f.EarlierMark.UTC().Format(time.RFC3339)
	}
	return []Setting{start}
}

func ttlOf(s policy.Subject, r policy.Evaluation) Setting {
	l := r.Rule.Lifetime(s, r.Facts)
	base, from := r.Rule.TTL, theRule
	if r.Rule.HasTTLExpression {
		base, from = r.Facts.TTL, "the rule's ttlExpression"
	}
	ttl := Setting{Name: "ttl", Value: span(l.TTL), From: from}
	if r.Rule.UnreadTTL() {
		return Setting{Name: "ttl", Value: "unknown", From: theRule}
	}
	var notes []string
	if l.Wrote != l.TTL {
		notes = append(notes, "written as "+span(l.Wrote))
	}
	switch l.Origin {
	case policy.FromRule:
		return ttl
	case policy.FromOverride:
		ttl.From = override(l.By)
	case policy.FromAnnotation:
		ttl.From = ownTTL
	}
	ttl.Note = strings.Join(append(notes, "rule says "+span(base), allowed(r.Rule.Bounds)), ", ")
	return ttl
}

// allowed describes the values that may replace the rule's own TTL.
func allowed(b policy.Bounds) string {
	switch {
	case b.Min != nil && b.Max != nil:
		return "allowed " + span(*b.Min) + ".." + span(*b.Max)
	case b.Min != nil:
		return "allowed " + span(*b.Min) + " and longer"
	case b.Max != nil:
		return "allowed longer, up to " + span(*b.Max)
	default:
		return "allowed longer"
	}
}

func keepOf(r *policy.Rule) []Setting {
	own := 0
	if r.Spec.KeepNewest != nil {
		own = int(r.Spec.KeepNewest.Count)
	}
	if r.Keep == 0 && own == 0 {
		return nil
	}
	keep := Setting{Name: "keepNewest", Value: strconv.Itoa(r.Keep), From: theRule}
	if own == r.Keep {
		return []Setting{keep}
	}
	least, allowed := own, "allowed more"
	if r.Bounds.Keep != nil {
		least, allowed = *r.Bounds.Keep, "allowed "+strconv.Itoa(*r.Bounds.Keep)+" and more"
	}
	for _, o := range r.Overrides {
		if o.Keep == nil || o.Invalid || max(*o.Keep, least) != r.Keep {
			continue
		}
		keep.From, keep.Note = override(o), "rule says "+orNone(own)+", "+allowed
		if *o.Keep != r.Keep {
			keep.Note = "written as " + strconv.Itoa(*o.Keep) + ", " + keep.Note
		}
		break
	}
	return []Setting{keep}
}

func orNone(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

func capacityOf(r *policy.Rule) []Setting {
	c := r.Capacity
	switch {
	case r.Spec.Capacity == nil:
		return nil
	case !c.Bounded:
		return []Setting{{Name: "capacity", Value: "none", From: theRule, Note: "the namespace has no quota for it"}}
	}
	capacity := Setting{Name: "capacity", Value: strconv.Itoa(c.Max), From: theRule}
	if c.ByQuota {
		capacity.Note = strconv.Itoa(c.Percent) + " % of the namespace's quota"
	}
	if c.Fair {
		capacity.Note = "shared by all namespaces"
	}
	return []Setting{capacity}
}

// timesOf returns the windows, and the freezes that have not ended.
func timesOf(r *policy.Rule, at time.Time) (all []Setting) {
	for _, w := range r.Windows {
		note := "closed"
		if w.Open(at) {
			note = "open until " + w.Closing(at).UTC().Format(time.RFC3339)
		}
		all = append(all, Setting{Name: "windows", Value: w.String(), From: "policy " + w.By, Note: note})
	}
	for _, f := range r.Freezes {
		if f.To.After(at) {
			all = append(all, Setting{Name: "freeze", Value: f.From.Format(time.RFC3339) + " to " + f.To.Format(time.RFC3339), From: "policy " + f.By, Note: f.Reason})
		}
	}
	return all
}

func suspensionOf(r *policy.Rule) []Setting {
	if !r.Suspended {
		return nil
	}
	suspend := Setting{Name: "suspend", Value: "true"}
	for _, o := range r.Overrides {
		switch {
		case !r.SuspendedBy(o):
		case o.Invalid:
			suspend.From, suspend.Note = override(o), "it is invalid, so objects are kept"
		default:
			suspend.From, suspend.Note = override(o), ""
			return []Setting{suspend}
		}
	}
	return []Setting{suspend}
}

func override(o *policy.Override) string { return "RetentionPolicy " + o.From + " " + o.Path }

func span(ttl time.Duration) string {
	if ttl < 0 {
		return "none"
	}
	return policy.FormatTTL(ttl)
}
