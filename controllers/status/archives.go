// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// Archives is the state of the archives that a Reporter reads.
type Archives interface {
	// Problem returns why a rule that archives cannot do so at the moment, and what to do; nil if it can, as far as is known.
	Problem(*policy.Rule) error
}

// archivesNow returns why rules cannot archive.
func (r *Reporter) archivesNow(e policyset.CompiledSnapshot) map[policy.RuleID]error {
	all := map[policy.RuleID]error{}
	if e.Snapshot == nil || r.Archives == nil {
		return all
	}
	for _, p := range e.Snapshot.Policies() {
		for _, rule := range p.Rules {
			if rule.Archive == nil || rule.Invalid() {
				continue
			}
			if err := r.Archives.Problem(rule); err != nil {
				all[rule.ID] = err
			}
		}
	}
	return all
}

// archiving returns the condition of a policy with rules that archive; no condition for any other policy.
func (v *statusInput) archiving(p *policy.Policy) (c conditionState) {
	var problems []string
	for _, r := range p.Rules {
		if r.Archive == nil {
			continue
		}
		c = conditionState{yes, "Archiving", "Sunset archives objects before rules that archive delete them"}
		if err := v.archives[r.ID]; err != nil {
			problems = append(problems, fmt.Sprintf("rule %s deletes nothing: %v", r.ID.Rule, err))
		}
	}
	if len(problems) > 0 {
		c = conditionState{no, retention.ArchiveUnavailable, strings.Join(policy.Shortlist(problems, rulesNamed, " rules"), "; ")}
	}
	return c
}
