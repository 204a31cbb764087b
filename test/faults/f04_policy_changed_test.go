// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// change is a user's action that keeps the objects that are being deleted.
type change struct {
	how func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy)
	// mark is scenario.Short or scenario.Long.
	mark func(t *testing.T)
	// approved means that the policy deletes only with an approval.
	approved bool
}

// TestF04APolicyChangesInTheMiddle changes a policy in the middle of a backlog, while the watches of policies are frozen.
func TestF04APolicyChangesInTheMiddle(t *testing.T) {
	t.Parallel()
	edit := func(e func(*v1alpha1.ClusterRetentionPolicySpec)) func(*scenario.Scenario, *v1alpha1.ClusterRetentionPolicy) {
		return func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) { s.Edit(p, e) }
	}
	inTheMiddle(t, map[string]change{
		"suspended":    {how: edit(suspends), mark: scenario.Short},
		"a dry run":    {how: edit(func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Mode = v1alpha1.DryRun }), mark: scenario.Long},
		"a longer TTL": {how: edit(enforcesAfter("1h")), mark: scenario.Long},
		"another rule keeps": {how: edit(func(spec *v1alpha1.ClusterRetentionPolicySpec) {
			keeps := *spec.Rules[0].DeepCopy()
			keeps.Name, keeps.TTL, keeps.TTLExpression = "keeps", "", "optional.none()"
			spec.Rules = append(spec.Rules, keeps)
		}), mark: scenario.Long},
		"its namespace is excluded": {how: func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) {
			s.Edit(p, func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.ExcludeNamespaces = []string{s.Namespace} })
		}, mark: scenario.Long},
		"invalid": {how: edit(func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Rules[0].Eligible = "objekt" }), mark: scenario.Long},
		"another policy suspended": {how: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) {
			s.Policy("veto", previews("Suspend", "0s"))
		}, mark: scenario.Long},
		"deleted": {how: func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) { s.Remove(p) }, mark: scenario.Long},
		"its approval is deleted": {how: func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) {
			approvals := &v1alpha1.ClusterRetentionApprovalList{}
			if err := s.List(s.Context(), approvals); err != nil {
				s.Fatal(err)
			}
			for i := range approvals.Items {
				if approvals.Items[i].Spec.Policy.UID == p.UID {
					s.Remove(&approvals.Items[i])
				}
			}
		}, mark: scenario.Long, approved: true},
	})
}

// TestF05AnOverrideComesInTheMiddle keeps objects in the middle of a backlog, by an override or by a hold on the namespace.
func TestF05AnOverrideComesInTheMiddle(t *testing.T) {
	t.Parallel()
	override := func(says string) func(*scenario.Scenario, *v1alpha1.ClusterRetentionPolicy) {
		return func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) {
			s.Override("keeps", fmt.Sprintf("overrides: [{policy: %s, %s}]", p.Name, says))
		}
	}
	inTheMiddle(t, map[string]change{
		"a longer TTL":            {how: override("ttl: 1h"), mark: scenario.Long},
		"a suspension":            {how: override("suspend: true"), mark: scenario.Long},
		"an unknown field":        {how: override("ttl: 0s, unless: sunday"), mark: scenario.Long},
		"a hold on its namespace": {how: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) { s.Hold(namespaceOf(s)) }, mark: scenario.Long},
	})
}

func namespaceOf(s *scenario.Scenario) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
}

// inTheMiddle makes changes in the middle of a backlog. The watches of policies and namespaces are frozen, so that only the
// reads before each deletion can show the change. Deletions must end within the window that the checker allows.
func inTheMiddle(t *testing.T, changes map[string]change) {
	const backlog = 120
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			change.mark(t)
			s := scenario.New(t, scenario.Options{})
			configMaps(s, "cm", backlog, preview)
			leads, waits := pair(s, scenario.Start{Flags: []string{"--max-deletions-per-second=15"}})
			spec := previews("Enforce", "0s")
			if change.approved {
				spec += "approval: {requiredFor: AllChanges}\n"
			}
			p := s.Policy("previews", spec)
			if change.approved {
				approve(s, p)
			}
			atMost(s, preview, backlog-20)
			var thaws []func()
			for _, resource := range []string{"clusterretentionpolicies", "retentionpolicies", "clusterretentionapprovals", "namespaces"} {
				thaws = append(thaws, leads.Proxy.Freeze(proxy.Requests("watch", resource)))
			}
			befell(s, leads, "events that were held back", func(t proxy.Counts) int { return t.HeldBack })
			change.how(s, p)
			changed := time.Now()

			settled(s, preview)
			late := since(changed, leads.Deletes())
			left := s.Left(&corev1.ConfigMapList{}, preview)
			t.Logf("%d DELETEs sent after the change was acknowledged, the last %s after it; %d of %d objects left",
				len(late), lastAfter(changed, late).Round(time.Millisecond), left, backlog)
			s.ExpectThat("objects that are left", func() bool { return left > 0 })
			silent(t, 2*time.Second, leads, waits)
			for _, thaw := range thaws {
				thaw()
			}
			s.Calm()
		})
	}
}

// settled waits until no object has been deleted for three seconds.
func settled(s *scenario.Scenario, labels map[string]string) {
	s.Helper()
	left, since := -1, time.Now()
	s.Eventually(func() error {
		if now := s.Left(&corev1.ConfigMapList{}, labels); now != left {
			left, since = now, time.Now()
		}
		return cluster.Want(time.Since(since) >= 3*time.Second, "%d objects left, and deletions continue", left)
	})
}

// lastAfter returns how long after a time the last request arrived.
func lastAfter(t time.Time, entries []proxy.Entry) time.Duration {
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].At.Sub(t)
}
