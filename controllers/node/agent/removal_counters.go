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

// removalCounters counts what was removed, beside what the node's report said when the agent started. It implements
// retention.Observer.
type removalCounters struct {
	brief   func(id string) images.Summary
	pressed func(policy.RuleID) bool // want of space lets images of the rule go
	meters  agentMetrics

	mu      sync.Mutex
	resumed bool
	total   v1alpha1.ImageCount
	removed []v1alpha1.NodeImagePolicyReport // by policy; nothing but names and what was removed

	reported v1alpha1.ImageCount // of these, what the report says that is written
	told     []v1alpha1.NodeImagePolicyReport
}

// resumeOnce goes on from what the first report says that was read; what others say is what this agent has written.
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

// wrote notes what a report says by now.
func (d *removalCounters) wrote(r *v1alpha1.NodeImageReport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reported = r.Removed
	d.told = nil
	for i := range r.Policies {
		d.told = agentapi.AddRemoved(d.told, &r.Policies[i])
	}
}

// startOver forgets what a report has said that is no more: whoever sums reports up has counted that, and a new one counts
// from there.
func (d *removalCounters) startOver() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total = v1alpha1.ImageCount{Images: d.total.Images - d.reported.Images, Bytes: d.total.Bytes - d.reported.Bytes}
	for i := range d.removed {
		for k := range d.told {
			if d.told[k].UID == d.removed[i].UID {
				agentapi.TakeRemoved(&d.removed[i], &d.told[k])
			}
		}
	}
	d.reported, d.told = v1alpha1.ImageCount{}, nil
}

// forget drops what was removed by policies that are gone: nobody sums it up.
func (d *removalCounters) forget(exists func(types.UID) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removed = slices.DeleteFunc(d.removed, func(r v1alpha1.NodeImagePolicyReport) bool { return !exists(r.UID) })
}

// Removed implements retention.Observer.
func (d *removalCounters) Removed(r retention.Removal) {
	bytes := d.brief(r.Subject.Name).Bytes
	reason := d.reasonOf(r)
	d.meters.removed.WithLabelValues(reason).Inc()
	d.meters.removedBytes.WithLabelValues(reason).Add(float64(bytes))
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

// Attempted implements retention.Observer: the node tells of what failed.
func (d *removalCounters) Attempted(retention.Result) {}

// reasonOf is why an image went, as the metrics say it.
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

// said is what was removed so far. The caller may keep it.
func (d *removalCounters) said() (v1alpha1.ImageCount, []v1alpha1.NodeImagePolicyReport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	copied := make([]v1alpha1.NodeImagePolicyReport, len(d.removed))
	for i := range d.removed {
		d.removed[i].DeepCopyInto(&copied[i])
	}
	return d.total, copied
}
