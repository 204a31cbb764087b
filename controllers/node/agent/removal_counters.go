// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// removalCounters counts removed images, in addition to the counts in the report of the node when the agent started. It
// implements retention.Observer.
type removalCounters struct {
	summary func(id string) images.Summary
	pressed func(policy.RuleID) bool // images of the rule are removed to free disk space
	metrics agentMetrics

	mu      sync.Mutex
	resumed bool
	total   v1alpha1.ImageCount
	removed []v1alpha1.NodeImagePolicyReport // by policy; names and removals only
}

// resumeOnce adds the counts of the first report that was read. It ignores later reports, which this agent has written.
func (d *removalCounters) resumeOnce(r *v1alpha1.NodeImageReport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.resumed {
		return
	}
	d.resumed = true
	d.total = v1alpha1.ImageCount{Images: d.total.Images + r.Removed.Images, Bytes: d.total.Bytes + r.Removed.Bytes}
	for i := range r.Policies {
		d.removed = agentapi.AddRemoved(d.removed, &r.Policies[i])
	}
}

// startOver subtracts the counts of a report that was deleted. The controller has added them up already, and counts a new
// report from zero.
func (d *removalCounters) startOver(r *v1alpha1.NodeImageReport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total = v1alpha1.ImageCount{Images: d.total.Images - r.Removed.Images, Bytes: d.total.Bytes - r.Removed.Bytes}
	for i := range d.removed {
		for k := range r.Policies {
			if r.Policies[k].UID == d.removed[i].UID {
				agentapi.TakeRemoved(&d.removed[i], &r.Policies[k])
			}
		}
	}
}

// forget drops the counts of deleted policies, which the controller does not add up.
func (d *removalCounters) forget(exists func(types.UID) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removed = slices.DeleteFunc(d.removed, func(r v1alpha1.NodeImagePolicyReport) bool { return !exists(r.UID) })
}

// Removed implements retention.Observer.
func (d *removalCounters) Removed(r retention.Removal) {
	bytes := d.summary(r.Subject.Name).Bytes
	reason := d.reasonOf(r)
	d.metrics.removed.WithLabelValues(reason).Inc()
	d.metrics.removedBytes.WithLabelValues(reason).Add(float64(bytes))
	one := v1alpha1.ImageCount{Images: 1, Bytes: bytes}
	entry := v1alpha1.NodeImagePolicyReport{
		Name: r.Rule.ID.Policy, UID: r.Rule.PolicyUID, Removed: one,
		Rules: []v1alpha1.NodeImageRuleReport{{Name: r.Rule.ID.Rule, Removed: one}},
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total = v1alpha1.ImageCount{Images: d.total.Images + 1, Bytes: d.total.Bytes + bytes}
	d.removed = agentapi.AddRemoved(d.removed, &entry)
}

// Attempted implements retention.Observer. It does nothing: the node reports failures.
func (d *removalCounters) Attempted(retention.Result) {}

// reasonOf returns the value of the label "reason" of the metrics.
func (d *removalCounters) reasonOf(r retention.Removal) string {
	switch {
	case r.Reason != policy.OverCapacity:
		return "age"
	case r.Rule.Images.HasThresholds && (r.Rule.Spec.Capacity == nil || d.pressed(r.Rule.ID)):
		return "space"
	default:
		return "capacity"
	}
}

// policies returns what was removed so far. The caller may change the result.
func (d *removalCounters) policies() (v1alpha1.ImageCount, []v1alpha1.NodeImagePolicyReport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	copied := make([]v1alpha1.NodeImagePolicyReport, len(d.removed))
	for i := range d.removed {
		d.removed[i].DeepCopyInto(&copied[i])
	}
	return d.total, copied
}
