// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// clusterRulesShown is the maximum number of ClusterRules in the status of a RetentionPolicy.
const clusterRulesShown = 100

// clusterRules returns what the rules of ClusterRetentionPolicies do in the namespace of a RetentionPolicy, and which of its
// overrides do not count.
func (v *statusInput) clusterRules(p *policy.Policy) []v1alpha1.ClusterRuleStatus {
	snapshot := v.compiled.Snapshot
	var all []v1alpha1.ClusterRuleStatus
	for _, r := range snapshot.ClusterRules(p.Namespace) {
		if len(all) == clusterRulesShown {
			break
		}
		all = append(all, v.clusterRule(p, r))
	}
	return all
}

func (v *statusInput) clusterRule(p *policy.Policy, r *policy.Rule) v1alpha1.ClusterRuleStatus {
	s := v1alpha1.ClusterRuleStatus{Policy: r.ID.Policy, Rule: r.ID.Rule, Mode: r.Mode}
	if r.Keep > 0 {
		s.KeepNewest = &v1alpha1.KeepNewestCount{Count: int32(r.Keep)}
	}
	if r.Suspended {
		s.Mode = v1alpha1.Suspend
	}
	if !r.HasTTLExpression && r.TTL >= 0 && !r.UnreadTTL() {
		s.TTL = policy.FormatTTL(r.Lifetime(policy.Subject{}, policy.Facts{}).TTL)
	}
	if base := v.compiled.Snapshot.Rule(r.ID); base != nil {
		s.Messages = first(problemsShown, base.OverrideWarnings(p.Name, v.compiled.Snapshot.Overrides(p.Namespace)))
	}
	if r.Unapproved {
		s.Messages = append(s.Messages, fmt.Sprintf("the rule waits until ClusterRetentionPolicy %s is approved or counted; until then it keeps every object that it finds eligible", r.ID.Policy))
	}
	c := v.stats.Teams[p.Namespace][r.ID]
	if c == nil {
		return s
	}
	s.Matched, s.Eligible, s.Held, s.Errors, s.Due, s.NextDueTime = c.Matched, c.Eligible, c.Held, c.Errors, c.Due, timeOrNil(c.NextDue)
	return s
}
