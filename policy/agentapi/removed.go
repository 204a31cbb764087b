// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// AddRemoved adds the removed images of one report to reports. It appends policies and rules that reports do not have, with no
// other numbers.
func AddRemoved(reports []v1alpha1.NodeImagePolicyReport, more *v1alpha1.NodeImagePolicyReport) []v1alpha1.NodeImagePolicyReport {
	if more.Removed.Images == 0 {
		return reports
	}
	to := entryOf(reports, more.UID)
	if to == nil {
		reports = append(reports, v1alpha1.NodeImagePolicyReport{Name: nameIn(reports, more), UID: more.UID})
		to = &reports[len(reports)-1]
	}
	addRemoved(to, more)
	return reports
}

func addRemoved(to, more *v1alpha1.NodeImagePolicyReport) {
	to.Removed = plus(to.Removed, more.Removed)
	for i := range more.Rules {
		addRemovedByRule(to, &more.Rules[i])
	}
}

func addRemovedByRule(to *v1alpha1.NodeImagePolicyReport, more *v1alpha1.NodeImageRuleReport) {
	if more.Removed.Images == 0 {
		return
	}
	rule := ruleOf(to, more.Name)
	if rule == nil {
		to.Rules = append(to.Rules, v1alpha1.NodeImageRuleReport{Name: more.Name})
		rule = &to.Rules[len(to.Rules)-1]
	}
	rule.Removed = plus(rule.Removed, more.Removed)
}

func plus(a, b v1alpha1.ImageCount) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: a.Images + b.Images, Bytes: a.Bytes + b.Bytes}
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
	for i := range less.Rules {
		if rule := ruleOf(from, less.Rules[i].Name); rule != nil {
			rule.Removed = minus(rule.Removed, less.Rules[i].Removed)
		}
	}
}

func minus(a, b v1alpha1.ImageCount) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: a.Images - b.Images, Bytes: a.Bytes - b.Bytes}
}

// carryOver keeps the removed images of a node when it reports again. Policies and rules missing from the new report keep their
// numbers. If the node lost its state and counts from zero, its old numbers are added to gone.
func (r *Reports) carryOver(before, after *v1alpha1.NodeImageReport) {
	for i := range before.Policies {
		was := &before.Policies[i]
		if !r.known.Has(was.UID) {
			continue
		}
		is := entryOf(after.Policies, was.UID)
		switch {
		case is == nil:
			after.Policies = AddRemoved(after.Policies, was)
		case is.Removed.Images < was.Removed.Images:
			addRemoved(r.goneOf(was.UID), was)
		default:
			carryRules(was, is)
		}
	}
}

// carryRules keeps the removed images of rules that are missing from the new report.
func carryRules(was, is *v1alpha1.NodeImagePolicyReport) {
	for i := range was.Rules {
		if ruleOf(is, was.Rules[i].Name) == nil {
			addRemovedByRule(is, &was.Rules[i])
		}
	}
}

func (r *Reports) goneOf(uid types.UID) *v1alpha1.NodeImagePolicyReport {
	if r.gone[uid] == nil {
		r.gone[uid] = &v1alpha1.NodeImagePolicyReport{}
	}
	return r.gone[uid]
}

// Resume raises the removed images of a policy to at least the numbers in its status, which include nodes that no longer exist.
// It may be called repeatedly.
func (r *Reports) Resume(uid types.UID, all v1alpha1.ImageCount, rules map[string]int64) {
	gone := r.goneOf(uid)
	known := gone.DeepCopy()
	for _, n := range r.nodes {
		if e := entryOf(n.Policies, uid); e != nil {
			addRemoved(known, e)
		}
	}
	missing := minus(all, known.Removed)
	gone.Removed = plus(gone.Removed, v1alpha1.ImageCount{Images: max(missing.Images, 0), Bytes: max(missing.Bytes, 0)})
	for name, images := range rules {
		if rule := ruleOf(known, name); rule != nil {
			images -= rule.Removed.Images
		}
		addRemovedByRule(gone, &v1alpha1.NodeImageRuleReport{
			Name: name, ImageCounts: v1alpha1.ImageCounts{Removed: v1alpha1.ImageCount{Images: max(images, 0)}},
		})
	}
}
