// SPDX-License-Identifier: Apache-2.0

package agentapi_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/agentapi"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
)

// freezing is a policy that freezes the rules of all policies for days from now, each day separately.
func freezing(days int) *policy.Policy {
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "audit", UID: "uid-audit"}}
	for day := range days {
		from := now.Add(time.Duration(day) * policy.Day)
		d.Spec.Freezes = append(d.Spec.Freezes, v1alpha1.Freeze{From: metav1.NewTime(from), To: metav1.NewTime(from.Add(policy.Day)), AllPolicies: true})
	}
	return d.Load(policy.DefaultProtection())
}

// TestAgentsReceiveWindowsAndFreezes: agents decide by the windows of the policy, and by the freezes of all policies.
func TestAgentsReceiveWindowsAndFreezes(t *testing.T) {
	d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p", UID: "uid-p"}}
	d.Spec.Mode, d.Spec.Rules = v1alpha1.Enforce, []v1alpha1.Rule{about(images, "old")}
	d.Spec.Windows = []v1alpha1.Window{{Schedule: "0 22 * * *", Duration: "8h", TimeZone: "Europe/Berlin"}}
	told := render(agentapi.MaxBytes, d.Load(policy.DefaultProtection()), freezing(2))
	data, err := json.Marshal(v1alpha1.NodeImageRules{Policies: told.Policies, Known: told.Known})
	expect.NoError(t, err)
	read, err := agentapi.Read(data)
	expect.NoError(t, err)
	p := read.Policies[0]
	expect.Equal(t, "problems", nil, p.Problems)
	deferral := p.Rules[0].Deferral(now)
	expect.Equal(t, "in the freeze", policy.IsFrozen, deferral.Reason)
	expect.Equal(t, "until the window after the freeze", now.Add(2*policy.Day+9*time.Hour), deferral.Until)
	expect.Equal(t, "before the freeze", policy.OutsideWindows, p.Rules[0].Deferral(now.Add(-time.Hour)).Reason)
}

// TestTooManyFreezesKeepImages: the API server accepts 32 freezes in a policy. If there are more, the rules keep all images.
func TestTooManyFreezesKeepImages(t *testing.T) {
	p := enforced()
	expect.Equal(t, "with 32 freezes", 0, render(agentapi.MaxBytes, p, freezing(32)).Missing.Len())
	expect.Equal(t, "with 33 freezes", true, render(agentapi.MaxBytes, p, freezing(33)).Missing.Has(p.UID))
}

// TestSumCountsImagesWithoutAnOpening: if no window opens within a week, nothing is due, so every eligible image counts.
func TestSumCountsImagesWithoutAnOpening(t *testing.T) {
	for name, test := range map[string]struct {
		schedule string
		want     int64
	}{
		"every night": {"0 22 * * *", 3},
		"once a year": {"0 0 1 1 *", 30},
	} {
		t.Run(name, func(t *testing.T) {
			d := &policy.Document{Metadata: metav1.ObjectMeta{Name: "p", UID: "uid-p"}}
			d.Spec.Mode, d.Spec.Rules = v1alpha1.Enforce, []v1alpha1.Rule{about(images, "old")}
			d.Spec.Windows = []v1alpha1.Window{{Schedule: test.schedule, Duration: "8h"}}
			p := d.Load(policy.DefaultProtection())
			p.Gate = &policy.ApprovalGate{Hash: "h"}
			report := seen(p, 100)
			report.Eligible, report.Rules[0].Eligible = 30, 30
			sum := reportsOf(reportOf("n", report)).Sum([]*policy.Policy{p}, now).Policies[p.UID]
			expect.Equal(t, "pending", test.want, sum.Stats.Pending.Week)
		})
	}
}
