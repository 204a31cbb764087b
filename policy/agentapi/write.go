// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Describe is the agent's report of each policy that it received. The stats count all images of the node by exactly these
// policies, with bytes; name gives the readable name and the bytes of an image ID. removed has the images removed so far by each
// policy, also by deleted policies.
func Describe(policies []*policy.Policy, t *policy.Stats, name func(id string) (string, int64), removed []v1alpha1.NodeImagePolicyReport) []v1alpha1.NodeImagePolicyReport {
	reports := make([]v1alpha1.NodeImagePolicyReport, 0, len(policies))
	for _, p := range policies {
		report := v1alpha1.NodeImagePolicyReport{Name: p.Name, UID: p.UID, Generation: p.Generation, Hash: p.Hash}
		stats := t.Policies[p.Name]
		if stats == nil {
			stats = &policy.PolicyStats{}
		}
		report.Matched, report.Eligible, report.Errors, report.Due = stats.Matched, stats.Eligible, stats.Errors, dueOf(&stats.Count)
		for _, r := range p.Rules {
			report.Rules = append(report.Rules, describe(r.ID.Rule, stats.Rules[r.ID.Rule], name))
		}
		reports = append(reports, report)
	}
	for i := range removed {
		reports = AddRemoved(reports, &removed[i])
	}
	return reports
}

func describe(rule string, stats *policy.RuleStats, name func(id string) (string, int64)) v1alpha1.NodeImageRuleReport {
	report := v1alpha1.NodeImageRuleReport{Name: rule}
	if stats == nil {
		return report
	}
	report.Matched, report.Eligible, report.Errors, report.Due = stats.Matched, stats.Eligible, stats.Errors, dueOf(&stats.Count)
	if len(stats.Failing) > 0 {
		called, _ := name(stats.Failing[0].Name)
		report.ErrorSample = called + ": " + stats.Failing[0].Message
	}
	if !stats.NextDue.IsZero() {
		report.NextDueTime = &metav1.Time{Time: stats.NextDue}
	}
	for _, s := range stats.Soonest[:min(len(stats.Soonest), soonestReported)] {
		called, bytes := name(s.Name)
		report.Soonest = append(report.Soonest, v1alpha1.ImageSample{Name: called, ID: s.Name, Bytes: bytes, DueTime: s.DueTime})
	}
	return report
}

// soonestReported is the maximum number of samples with the earliest due times in the report of a rule.
const soonestReported = 3

func dueOf(c *policy.Count) v1alpha1.ImageDueCounts {
	of := func(images, bytes int64) v1alpha1.ImageCount {
		return v1alpha1.ImageCount{Images: images, Bytes: bytes}
	}
	return v1alpha1.ImageDueCounts{
		Now: of(c.Due.Now, c.DueBytes.Now), Hour: of(c.Due.Hour, c.DueBytes.Hour),
		Day: of(c.Due.Day, c.DueBytes.Day), Week: of(c.Due.Week, c.DueBytes.Week),
	}
}
