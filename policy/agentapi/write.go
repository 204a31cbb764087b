// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"slices"

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
	of := func(images int64, storage policy.Amount) v1alpha1.ImageCount {
		return v1alpha1.ImageCount{Images: images, Bytes: storage.Bytes}
	}
	return v1alpha1.ImageDueCounts{
		Now: of(c.Due.Now, c.DueStorage.Now), Hour: of(c.Due.Hour, c.DueStorage.Hour),
		Day: of(c.Due.Day, c.DueStorage.Day), Week: of(c.Due.Week, c.DueStorage.Week),
	}
}

// AddRemoved adds the removed images of one report to reports. It appends policies and rules that reports do not have, with no
// other numbers.
func AddRemoved(reports []v1alpha1.NodeImagePolicyReport, more *v1alpha1.NodeImagePolicyReport) []v1alpha1.NodeImagePolicyReport {
	if more.Removed.Images == 0 {
		return reports
	}
	i := slices.IndexFunc(reports, func(r v1alpha1.NodeImagePolicyReport) bool { return r.UID == more.UID })
	if i < 0 {
		i = len(reports)
		reports = append(reports, v1alpha1.NodeImagePolicyReport{Name: nameIn(reports, more), UID: more.UID})
	}
	to := &reports[i]
	to.Removed = plus(to.Removed, more.Removed)
	for _, r := range more.Rules {
		if r.Removed.Images == 0 {
			continue
		}
		k := slices.IndexFunc(to.Rules, func(o v1alpha1.NodeImageRuleReport) bool { return o.Name == r.Name })
		if k < 0 {
			k = len(to.Rules)
			to.Rules = append(to.Rules, v1alpha1.NodeImageRuleReport{Name: r.Name})
		}
		to.Rules[k].Removed = plus(to.Rules[k].Removed, r.Removed)
	}
	return reports
}

// nameIn is the name of a deleted policy. If another policy has that name now, the UID makes it unique, because names in a report
// differ.
func nameIn(reports []v1alpha1.NodeImagePolicyReport, p *v1alpha1.NodeImagePolicyReport) string {
	if slices.ContainsFunc(reports, func(r v1alpha1.NodeImagePolicyReport) bool { return r.Name == p.Name }) {
		return p.Name + "/" + string(p.UID)
	}
	return p.Name
}

// TakeRemoved subtracts from a report the removed images of another.
func TakeRemoved(from, less *v1alpha1.NodeImagePolicyReport) {
	from.Removed = minus(from.Removed, less.Removed)
	for i := range from.Rules {
		for k := range less.Rules {
			if from.Rules[i].Name == less.Rules[k].Name {
				from.Rules[i].Removed = minus(from.Rules[i].Removed, less.Rules[k].Removed)
			}
		}
	}
}

func minus(a, b v1alpha1.ImageCount) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: a.Images - b.Images, Bytes: a.Bytes - b.Bytes}
}
