package agentapi

import (
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// report is what is kept of a NodeImageReport: there may be thousands.
type report struct {
	created, observed time.Time
	obstacle          Obstacle
	since             time.Time // of the obstacle
	policies          []entry
}

// entry is what one policy sees on one node.
type entry struct {
	uid        types.UID
	generation int64 // 0 for one that only says what was removed
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

// What one node can have. A report that says more, or less than nothing, must not outweigh those of other nodes.
const (
	mostImages = 1 << 24
	mostBytes  = 1 << 48
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

// keep takes from a report what is summed up. Equal texts are kept once: most nodes have the same images.
func keep(r *v1alpha1.NodeImageReport) *report {
	kept := &report{created: r.CreationTimestamp.Time, observed: r.ObservedTime.Time, policies: make([]entry, len(r.Policies))}
	if obstacles := obstacles(r.Conditions); len(obstacles) > 0 {
		first := obstacles[0]
		kept.obstacle, kept.since = Obstacle{Reason: once(first.Reason), Message: once(first.Message)}, first.LastTransitionTime.Time
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		kept.policies[i] = entry{
			uid: types.UID(once(string(p.UID))), generation: p.Generation, hash: once(p.Hash),
			counts: countsOf(p.Matched, p.Eligible, p.Errors, p.Due, p.Removed),
			rules:  make([]ruleEntry, len(p.Rules)),
		}
		for k := range p.Rules {
			kept.policies[i].rules[k] = keepRule(&p.Rules[k])
		}
	}
	return kept
}

func keepRule(r *v1alpha1.NodeImageRuleReport) ruleEntry {
	kept := ruleEntry{
		name: once(r.Name), counts: countsOf(r.Matched, r.Eligible, r.Errors, r.Due, r.Removed),
		failing: once(r.ErrorSample), soonest: make([]sample, len(r.Soonest)),
	}
	if r.NextDueTime != nil {
		kept.nextDue = r.NextDueTime.Time
	}
	for i, s := range r.Soonest {
		kept.soonest[i] = sample{image: once(nameOf(s)), due: s.DueTime.Time}
	}
	return kept
}

// nameOf is what people know an image by.
func nameOf(s v1alpha1.ImageSample) string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

// once gives a text that equal texts share.
func once(text string) string { return unique.Make(text).Value() }

// Strip drops from a report, in place, what is not summed up.
func Strip(r *v1alpha1.NodeImageReport) {
	r.ObjectMeta = metav1.ObjectMeta{
		Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, CreationTimestamp: r.CreationTimestamp,
		Annotations: bookmarks(r.Annotations),
	}
	r.Conditions, r.Filesystem, r.Runtime = obstacles(r.Conditions), nil, ""
}

// obstacles are the conditions of a node that keep it from removing images. Without its state a node removes them, later.
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

// bookmarks are the annotations by which a watch says that its initial events have ended.
func bookmarks(annotations map[string]string) map[string]string {
	if value, ok := annotations[metav1.InitialEventsAnnotationKey]; ok {
		return map[string]string{metav1.InitialEventsAnnotationKey: value}
	}
	return nil
}

// entry is what the report says of a policy; nil where it says nothing.
func (r *report) entry(uid types.UID) *entry {
	for i := range r.policies {
		if r.policies[i].uid == uid {
			return &r.policies[i]
		}
	}
	return nil
}

// rule is what the entry says of a rule; nil where it says nothing.
func (e *entry) rule(name string) *ruleEntry {
	for i := range e.rules {
		if e.rules[i].name == name {
			return &e.rules[i]
		}
	}
	return nil
}
