// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// Team has the counts of rules of ClusterRetentionPolicies in one namespace, for the authors of RetentionPolicies there.
type Team map[RuleID]*Count

// addTeam counts a subject for each rule of ClusterRetentionPolicies, as if the RetentionPolicies of the namespace were enforced.
func (t *Stats) addTeam(team Team, s Subject, evaluations []Evaluation) {
	evaluations = tried(evaluations)
	base := combine(s, evaluations, t.now, inForce)
	for policy := range byPolicy(evaluations) {
		if policy[0].Rule.Namespace != "" {
			continue
		}
		verdict := supposing(s, evaluations, policy, base, t.now)
		for i := range policy {
			r := &policy[i]
			if !r.Facts.Selected {
				continue
			}
			var c Count
			c.note(s, r)
			if verdict.Action != Keep && r.vote(&s, t.now, supposed).isDue() {
				t.due(&c, verdict.Due, Amount{})
			}
			team.rule(r.Rule.ID).Add(c)
		}
	}
}

// rule gives the count of one rule.
func (t Team) rule(id RuleID) *Count {
	c := t[id]
	if c == nil {
		c = &Count{}
		t[id] = c
	}
	return c
}

// tried gives the evaluations as if overrides of dry-run RetentionPolicies were in force.
func tried(evaluations []Evaluation) []Evaluation {
	if !slices.ContainsFunc(evaluations, func(r Evaluation) bool { return r.Rule.IfEnforced != nil }) {
		return evaluations
	}
	ifEnforced := slices.Clone(evaluations)
	for i := range ifEnforced {
		if r := ifEnforced[i].Rule.IfEnforced; r != nil {
			ifEnforced[i].Rule = r
		}
	}
	return ifEnforced
}
