// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/controllers/node/images"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// newRemovalCounters returns counters for which every image has ten bytes.
func newRemovalCounters() *removalCounters {
	meters, err := newAgentMetrics(prometheus.NewRegistry())
	if err != nil {
		panic(err) // the registry is empty
	}
	return &removalCounters{
		metrics: meters,
		summary: func(string) images.Summary { return images.Summary{Bytes: 10} },
		pressed: func(policy.RuleID) bool { return false },
	}
}

func (d *removalCounters) remove(policyName, rule string) {
	r := &policy.Rule{ID: policy.RuleID{Policy: policyName, Rule: rule}, PolicyUID: "uid-p"}
	d.Removed(retention.Removal{Rule: r, Reason: policy.Expired})
}

func counts(images int64) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: images, Bytes: images * 10}
}

// reported returns a report with that number of removed images, all by rule a.
func reported(images int64) *v1alpha1.NodeImageReport {
	return &v1alpha1.NodeImageReport{Removed: counts(images), Policies: []v1alpha1.NodeImagePolicyReport{{
		Name: "p", UID: "uid-p", Generation: 3, Matched: 9, Removed: counts(images),
		Rules: []v1alpha1.NodeImageRuleReport{{Name: "a", Matched: 9, Removed: counts(images)}},
	}}}
}

func (d *removalCounters) want(t *testing.T, total int64, rules map[string]int64) {
	t.Helper()
	all, policies := d.policies()
	got := map[string]int64{}
	for _, p := range policies {
		for _, r := range p.Rules {
			got[r.Name] += r.Removed.Images
		}
		if p.Matched != 0 || p.Generation != 0 {
			t.Errorf("not only removals: %+v", p)
		}
	}
	if diff := cmp.Diff(rules, got); all != counts(total) || diff != "" {
		t.Errorf("%+v, want %d images; by rule -want +got\n%s", all, total, diff)
	}
}

func TestRemovalCountersResumeOnce(t *testing.T) {
	d := newRemovalCounters()
	d.remove("p", "a") // before anything was read
	d.resumeOnce(reported(5))
	d.want(t, 6, map[string]int64{"a": 6})
	d.resumeOnce(reported(6)) // the agent's own report
	d.remove("p", "b")
	d.want(t, 7, map[string]int64{"a": 6, "b": 1})
}

func TestRemovalCountersStartOver(t *testing.T) {
	d := newRemovalCounters()
	d.resumeOnce(reported(5))
	d.remove("p", "a")
	written := reported(6)
	d.remove("p", "a")
	d.remove("p", "b")
	d.startOver(written)
	d.want(t, 2, map[string]int64{"a": 1, "b": 1})
}

// TestRemovalCountersReturnCopies: the caller may change the result of said.
func TestRemovalCountersReturnCopies(t *testing.T) {
	d := newRemovalCounters()
	d.remove("p", "a")
	_, policies := d.policies()
	policies[0].Removed, policies[0].Rules[0].Removed = counts(100), counts(100)
	d.want(t, 1, map[string]int64{"a": 1})
}

func TestWhyAnImageWent(t *testing.T) {
	for name, test := range map[string]struct {
		reason     policy.Reason
		thresholds bool
		capacity   bool
		pressed    bool
		want       string
	}{
		"the TTL has passed":                       {policy.Expired, false, false, false, "age"},
		"the TTL has passed, and the disk is full": {policy.Expired, true, false, true, "age"},
		"over capacity":                            {policy.OverCapacity, false, true, false, "capacity"},
		"the disk is full":                         {policy.OverCapacity, true, false, true, "space"},
		"the disk was full a moment ago":           {policy.OverCapacity, true, false, false, "space"},
		"over capacity, and the disk is not full":  {policy.OverCapacity, true, true, false, "capacity"},
		"over capacity, and the disk is full":      {policy.OverCapacity, true, true, true, "space"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newRemovalCounters()
			d.pressed = func(policy.RuleID) bool { return test.pressed }
			r := retention.Removal{Rule: &policy.Rule{Images: policy.Images{HasThresholds: test.thresholds}}, Reason: test.reason}
			if test.capacity {
				r.Rule.Spec.Capacity = &v1alpha1.Capacity{}
			}
			expect.Equal(t, "reason", test.want, d.reasonOf(r))
		})
	}
}

// TestPoliciesThatAreGoneLeaveTheReport: etcd accepts no object of more than 1.5 MiB. If the agent cannot write its report, the
// node counts as one that does not report.
func TestPoliciesThatAreGoneLeaveTheReport(t *testing.T) {
	atWork(t, func(h *host) {
		h.sendRules(v1alpha1.Enforce, aboutImages("r", "7d", nil))
		h.add(idOf(1), 7)
		h.counts()
		for i := range 3_000 {
			h.counters.Removed(retention.Removal{
				Subject: policy.Subject{Name: idOf(1)}, Reason: policy.Expired,
				Rule: &policy.Rule{ID: policy.RuleID{Policy: fmt.Sprint("nightly-", i), Rule: "r"}, PolicyUID: types.UID(fmt.Sprint("uid-", i)), Kind: v1alpha1.ImageKind},
			})
		}
		report := h.counts()
		data, err := json.Marshal(report)
		expect.NoError(t, err)
		if len(report.Policies) > 100 {
			t.Errorf("the report has %d policies, of which one exists, and %d bytes", len(report.Policies), len(data))
		}
	})
}
