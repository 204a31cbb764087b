// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"cmp"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// report is the part of a NodeImageReport that the controller keeps in memory: there may be thousands of reports.
type report struct {
	created, observed time.Time
	obstacle          Obstacle
	since             time.Time // when the obstacle began
	blind             bool      // the obstacle prevents the node from counting its images
	policies          []entry
}

// entry has the numbers of one policy on one node.
type entry struct {
	uid        types.UID
	generation int64 // 0 for an entry with only removed images
	hash       string
	counts
	rules []ruleEntry
}

type ruleEntry struct {
	name string
	counts
	nextDue time.Time
	soonest []sample
	failing string
}

type counts struct {
	matched, eligible, errors int64
	due                       v1alpha1.ImageDueCounts
	removed                   v1alpha1.ImageCount
}

// Maximum numbers of one node. A report with larger or negative numbers must not outweigh the reports of other nodes.
const (
	mostImages = 1 << 24
	mostBytes  = 1 << 48
	mostRules  = 128 // of a policy, also former rules that have removed images; the current rules come first
	mostName   = 253 // length of the name of a sample
)

func countsOf(matched, eligible, errors int64, due v1alpha1.ImageDueCounts, removed v1alpha1.ImageCount) counts {
	return counts{
		matched: bounded(matched, mostImages), eligible: bounded(eligible, mostImages), errors: bounded(errors, mostImages),
		due:     v1alpha1.ImageDueCounts{Now: countOf(due.Now), Hour: countOf(due.Hour), Day: countOf(due.Day), Week: countOf(due.Week)},
		removed: countOf(removed),
	}
}

func countOf(c v1alpha1.ImageCount) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: bounded(c.Images, mostImages), Bytes: bounded(c.Bytes, mostBytes)}
}

func bounded(n, most int64) int64 { return min(max(n, 0), most) }

type sample struct {
	image string
	due   time.Time
}

// keep takes the summed fields of a report, and only one entry of each policy. Equal texts are shared, because most nodes have the
// same images.
func keep(r *v1alpha1.NodeImageReport) *report {
	kept := &report{created: r.CreationTimestamp.Time, observed: r.ObservedTime.Time, policies: make([]entry, 0, len(r.Policies))}
	if obstacles := obstacles(r.Conditions); len(obstacles) > 0 {
		first := obstacles[0]
		kept.obstacle, kept.since = Obstacle{Reason: once(first.Reason), Message: once(first.Message)}, first.LastTransitionTime.Time
		kept.blind = first.Type == v1alpha1.ConditionRuntimeReachable || first.Type == v1alpha1.ConditionPodsKnown
	}
	seen := make(sets.Set[types.UID], len(r.Policies))
	for i := range r.Policies {
		p := &r.Policies[i]
		if seen.Has(p.UID) {
			continue
		}
		seen.Insert(p.UID)
		e := entry{
			uid: types.UID(once(string(p.UID))), generation: p.Generation, hash: once(p.Hash),
			counts: countsOf(p.Matched, p.Eligible, p.Errors, p.Due, p.Removed),
			rules:  make([]ruleEntry, min(len(p.Rules), mostRules)),
		}
		for k := range e.rules {
			e.rules[k] = keepRule(&p.Rules[k])
		}
		kept.policies = append(kept.policies, e)
	}
	return kept
}

func keepRule(r *v1alpha1.NodeImageRuleReport) ruleEntry {
	kept := ruleEntry{
		name: once(r.Name), counts: countsOf(r.Matched, r.Eligible, r.Errors, r.Due, r.Removed),
		failing: once(r.ErrorSample), soonest: make([]sample, min(len(r.Soonest), soonestReported)),
	}
	if r.NextDueTime != nil {
		kept.nextDue = r.NextDueTime.Time
	}
	for i := range kept.soonest {
		s := &r.Soonest[i]
		kept.soonest[i] = sample{image: once(cmp.Or(s.Name, s.ID)), due: s.DueTime.Time}
	}
	return kept
}

// once gives a text that shares its memory with equal texts.
func once(text string) string { return unique.Make(text).Value() }

// Strip removes from a report, in place, the fields that are not summed.
func Strip(r *v1alpha1.NodeImageReport) {
	r.ObjectMeta = metav1.ObjectMeta{
		Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, CreationTimestamp: r.CreationTimestamp,
		Annotations: bookmarks(r.Annotations),
	}
	r.Conditions, r.Filesystem, r.Runtime = obstacles(r.Conditions), nil, ""
}

// obstacles are the conditions of a node that prevent it from removing images. StateKept is not among them: it only delays the
// removal.
func obstacles(conditions []metav1.Condition) (found []metav1.Condition) {
	for _, of := range []string{
		v1alpha1.ConditionRuntimeReachable, v1alpha1.ConditionPodsKnown, v1alpha1.ConditionRulesKnown, v1alpha1.ConditionFilesystemSeen,
	} {
		if c := meta.FindStatusCondition(conditions, of); c != nil && c.Status == metav1.ConditionFalse {
			found = append(found, *c)
		}
	}
	return found
}

// bookmarks is the annotation with which a watch reports the end of its initial events.
func bookmarks(annotations map[string]string) map[string]string {
	if value, ok := annotations[metav1.InitialEventsAnnotationKey]; ok {
		return map[string]string{metav1.InitialEventsAnnotationKey: value}
	}
	return nil
}

// entry is the entry of a policy in the report; nil if there is none.
func (r *report) entry(uid types.UID) *entry {
	for i := range r.policies {
		if r.policies[i].uid == uid {
			return &r.policies[i]
		}
	}
	return nil
}

// rule is the entry of a rule; nil if there is none.
func (e *entry) rule(name string) *ruleEntry {
	for i := range e.rules {
		if e.rules[i].name == name {
			return &e.rules[i]
		}
	}
	return nil
}
