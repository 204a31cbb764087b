// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"

	"github.com/sunset-k8s/sunset/policy"
)

// IfEnforced describes the rule as if the dry-run RetentionPolicies of the namespace were enforced.
type IfEnforced struct {
	From []string `json:"retentionPolicies"`
	Vote
	Settings []Setting `json:"settings"` // only those that differ
}

// ifEnforced returns the IfEnforced of a rule; as is the rule without it. It returns nil if no dry run changes what
// the rule says about the object: a dry run may already apply, such as one with windows.
func (in *Input) ifEnforced(r policy.Evaluation, as *Rule) *IfEnforced {
	if r.Rule.IfEnforced == nil {
		return nil
	}
	t := &IfEnforced{From: []string{}, Settings: []Setting{}}
	for _, o := range r.Rule.Overrides {
		if !o.InForce && !slices.Contains(t.From, o.From) {
			t.From = append(t.From, o.From)
		}
	}
	r.Rule = r.Rule.IfEnforced
	r.Rank.Newest = as.Rank.keeps(r.Rule.Keep)
	t.Vote = voteOf(verdictAlone(in.Subject, r, in.At))
	for _, s := range settingsOf(in.Subject, r, in.At) {
		if !slices.Contains(as.Settings, s) {
			t.Settings = append(t.Settings, s)
		}
	}
	if t.Vote == as.Vote && len(t.Settings) == 0 {
		return nil
	}
	return t
}
