// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"cmp"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Maximum numbers of one node. A report with larger or negative numbers must not outweigh the reports of other nodes.
const (
	mostImages = 1 << 24
	mostBytes  = 1 << 48
)

// Strip removes from a report, in place, everything that is not summed: there may be thousands of reports. Equal texts share
// their memory, because most nodes have the same images. Numbers are limited to mostImages and mostBytes.
func Strip(r *v1alpha1.NodeImageReport) {
	*r = v1alpha1.NodeImageReport{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, CreationTimestamp: r.CreationTimestamp,
			Annotations: bookmarks(r.Annotations),
		},
		ObservedTime: r.ObservedTime, Conditions: firstObstacle(r.Conditions),
		Policies: slices.Clone(r.Policies), // a decoded slice has room for more elements
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		p.Name, p.UID, p.Hash = once(p.Name), types.UID(once(string(p.UID))), once(p.Hash)
		limit(&p.ImageCounts)
		p.Rules = slices.Clone(p.Rules)
		for k := range p.Rules {
			stripRule(&p.Rules[k])
		}
	}
}

func stripRule(r *v1alpha1.NodeImageRuleReport) {
	r.Name, r.ErrorSample = once(r.Name), once(r.ErrorSample)
	limit(&r.ImageCounts)
	r.Soonest = slices.Clone(r.Soonest)
	for i, s := range r.Soonest {
		r.Soonest[i] = v1alpha1.ImageSample{Name: once(cmp.Or(s.Name, s.ID)), DueTime: s.DueTime}
	}
}

// once gives a text that shares its memory with equal texts.
func once(text string) string { return unique.Make(text).Value() }

func limit(c *v1alpha1.ImageCounts) {
	for _, n := range []*int64{&c.Matched, &c.Eligible, &c.Errors} {
		*n = bounded(*n, mostImages)
	}
	for _, n := range []*v1alpha1.ImageCount{&c.Due.Now, &c.Due.Hour, &c.Due.Day, &c.Due.Week, &c.Removed} {
		n.Images, n.Bytes = bounded(n.Images, mostImages), bounded(n.Bytes, mostBytes)
	}
}

func bounded(n, most int64) int64 { return min(max(n, 0), most) }

// firstObstacle is the first condition of a node that prevents it from removing images, if there is one. StateKept is not among
// them: it only delays the removal.
func firstObstacle(conditions []metav1.Condition) []metav1.Condition {
	for _, of := range []string{
		v1alpha1.ConditionRuntimeReachable, v1alpha1.ConditionPodsKnown, v1alpha1.ConditionRulesKnown, v1alpha1.ConditionFilesystemSeen,
	} {
		if c := meta.FindStatusCondition(conditions, of); c != nil && c.Status == metav1.ConditionFalse {
			return []metav1.Condition{{
				Type: of, Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: once(c.Reason), Message: once(c.Message),
			}}
		}
	}
	return nil
}

// bookmarks is the annotation with which a watch reports the end of its initial events.
func bookmarks(annotations map[string]string) map[string]string {
	if value, ok := annotations[metav1.InitialEventsAnnotationKey]; ok {
		return map[string]string{metav1.InitialEventsAnnotationKey: value}
	}
	return nil
}

// entryOf is the entry of a policy; nil if there is none.
func entryOf(policies []v1alpha1.NodeImagePolicyReport, uid types.UID) *v1alpha1.NodeImagePolicyReport {
	for i := range policies {
		if policies[i].UID == uid {
			return &policies[i]
		}
	}
	return nil
}

// ruleOf is the entry of a rule; nil if there is none.
func ruleOf(p *v1alpha1.NodeImagePolicyReport, name string) *v1alpha1.NodeImageRuleReport {
	for i := range p.Rules {
		if p.Rules[i].Name == name {
			return &p.Rules[i]
		}
	}
	return nil
}
