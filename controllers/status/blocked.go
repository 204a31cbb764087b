// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/rbac"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// blockedShown is the maximum number of blocking rules in a status, and of blocked policies.
const blockedShown = 5

// blockedMeasured is the maximum number of blocking rules in the metric. Its alert names each rule.
const blockedMeasured = 100

// blocked sets what other policies keep of the objects of this one, and what this one keeps of theirs.
func (v *statusInput) blocked(stats *policy.PolicyStats, s *v1alpha1.RetentionPolicyStatus) {
	s.Blocked = stats.Blocked.Subjects
	for _, by := range stats.Blocked.Most(blockedShown) {
		s.BlockedBy = append(s.BlockedBy, v1alpha1.BlockingRule{
			Policy: by.Rule.Policy, Rule: by.Rule.Rule, Reason: string(by.Reason), Objects: stats.Blocked.By[by],
		})
	}
	for _, name := range stats.Blocking(blockedShown) {
		s.Blocks = append(s.Blocks, v1alpha1.BlockedPolicy{Policy: name, Objects: stats.Blocks[name]})
	}
}

// blocking returns the condition Blocked. It is not ok, and left out, if no other policy keeps objects.
func (v *statusInput) blocking(p *policy.Policy, s *v1alpha1.RetentionPolicyStatus) conditionState {
	if len(s.BlockedBy) == 0 {
		return conditionState{}
	}
	var by []string
	others := s.Blocked
	for _, b := range s.BlockedBy {
		by = append(by, fmt.Sprintf("%d by rule %s of %s (%s)", b.Objects, b.Rule, named(b.Policy), b.Reason))
		others -= b.Objects
	}
	if others > 0 {
		by = append(by, fmt.Sprintf("and %d by other rules", others))
	}
	sample := v.statsOf(p).Blocked.Sample
	return conditionState{yes, s.BlockedBy[0].Reason, fmt.Sprintf("rules of other policies keep %s that this policy would delete now: %s; run %s",
		objects(s.Blocked), strings.Join(by, ", "), rbac.Explain(sample.Rule.Kind.GroupKind(), sample.Namespace, sample.Name))}
}

// evaluated is not a condition of its own: Ready shows that expressions fail.
func (v *statusInput) evaluated(s *v1alpha1.RetentionPolicyStatus) conditionState {
	if s.Errors == 0 {
		return conditionState{status: yes}
	}
	var parts []string
	for _, r := range s.Rules {
		if r.Errors == 0 {
			continue
		}
		part := fmt.Sprintf("rule %s fails on %d of %s", r.Name, r.Errors, objects(r.Matched))
		if len(r.ErrorSamples) > 0 {
			first := r.ErrorSamples[0]
			part += fmt.Sprintf(", first on %s: %s", strings.TrimPrefix(first.Namespace+"/"+first.Name, "/"), first.Message)
		}
		parts = append(parts, part)
	}
	return conditionState{no, string(policy.EvaluationFailed), strings.Join(policy.Shortlist(parts, rulesNamed, " rules fail"), "; ")}
}

// keeping returns the message about the objects of other policies that a policy keeps. all are their numbers by policy.
func keeping(blocks []v1alpha1.BlockedPolicy, all map[string]int64) string {
	var of []string
	others := int64(0)
	for _, n := range all {
		others += n
	}
	for _, b := range blocks {
		of = append(of, fmt.Sprintf("%d of %s", b.Objects, named(b.Policy)))
		others -= b.Objects
	}
	if others > 0 {
		of = append(of, fmt.Sprintf("and %d of other policies", others))
	}
	return "this policy keeps objects that other policies would delete now: " + strings.Join(of, ", ")
}

// delayed returns the condition Delayed. It is not ok, and left out, if every due object can be deleted.
func (v *statusInput) delayed(p *policy.Policy) conditionState {
	all := append(v.nodes.delays(p), v.delays[p.Name]...)
	if len(all) == 0 {
		return conditionState{}
	}
	slices.SortFunc(all, retention.Delay.Compare)
	var parts []string
	for _, d := range all {
		where := ""
		if d.Namespace != "" {
			where = " in namespace " + d.Namespace
		}
		parts = append(parts, fmt.Sprintf("%s%s, such as %s: %s", d.Reason, where, d.Name, d.Message))
	}
	return conditionState{yes, all[0].Reason, "Sunset cannot delete objects that are due: " + strings.Join(policy.Shortlist(parts, 3, ""), "; ")}
}

// named returns the kind and name of a policy.
func named(policy string) string {
	if strings.Contains(policy, "/") {
		return v1alpha1.RetentionPolicyKind.Kind + " " + policy
	}
	return v1alpha1.ClusterRetentionPolicyKind.Kind + " " + policy
}

func objects(n int64) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
