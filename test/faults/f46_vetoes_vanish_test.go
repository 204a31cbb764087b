// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF46WhatKeptObjectsGoesAway removes what keeps objects from an enforced policy: with a leader, which is then killed, or
// without a leader. In both cases the objects wait for approval.
func TestF46WhatKeptObjectsGoesAway(t *testing.T) {
	t.Parallel()
	ways := map[string]veto{
		"a policy is deleted": deletedPolicy,
		"a policy becomes a dry run": {keeps: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) func() {
			other := suspended(s)
			return func() { s.Edit(other, func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Mode = v1alpha1.DryRun }) }
		}},
		"a policy is narrowed": {keeps: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) func() {
			other := suspended(s)
			return func() {
				s.Edit(other, func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.ExcludeNamespaces = []string{s.Namespace} })
			}
		}},
		"a hold is removed": {keeps: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) func() {
			namespace := &corev1.Namespace{}
			expect.NoError(s, s.Get(s.Context(), types.NamespacedName{Name: s.Namespace}, namespace))
			s.Hold(namespace)
			return func() { s.Unhold(namespace) }
		}},
		"an override is deleted": {keeps: func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) func() {
			pause := s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
			return func() { s.Remove(pause) }
		}},
		"a quota shrinks": {rule: "  capacity: {percentOfQuota: 100}\n", stay: 1, keeps: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) func() {
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "quota"}}
			quota.Spec.Hard = corev1.ResourceList{"count/configmaps": resource.MustParse("1000")}
			s.MustCreate(quota)
			return func() { s.Change(quota, func() { quota.Spec.Hard["count/configmaps"] = resource.MustParse("1") }) }
		}},
	}
	for name, way := range ways {
		for when, led := range map[string]bool{"with a leader": true, "without a leader": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				scenario.Long(t)
				vanishes(t, scenario.Options{}, way, led)
			})
		}
	}
}

// veto keeps objects of a policy until it goes away.
type veto struct {
	rule  string // added to the rule
	keeps func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) (goesAway func())
	stay  int // number of objects at the end
}

func suspended(s *scenario.Scenario) *v1alpha1.ClusterRetentionPolicy {
	return s.Policy("veto", previews("Suspend", "0s"))
}

var deletedPolicy = veto{keeps: func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy) func() {
	other := suspended(s)
	return func() { s.Remove(other) }
}}

// vanishes removes a veto while the first replica leads, or right after it was killed.
func vanishes(t *testing.T, o scenario.Options, way veto, led bool) {
	const due = 20
	s := scenario.New(t, o)
	ttl := "0s"
	if way.rule != "" {
		ttl = "1000h"
	}
	p := s.Policy("previews", previews("Enforce", ttl)+way.rule+"approval: {maxObjects: 10, maxPercent: 25}\n")
	goesAway := way.keeps(s, p)
	leads, waits := pair(s, scenario.Start{Failover: true})
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.Enforced != nil, "the policy is not enforced yet")
	})
	kept := configMaps(s, "cm", due, preview) // without the veto, the policy would delete them immediately
	counted(s, p, due)
	if led {
		goesAway()
		tells(s, p, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	}
	leads.Kill()
	if !led {
		goesAway()
	}
	if s.Leader() != waits {
		t.Error("the other replica does not lead")
	}
	tells(s, p, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	silent(t, 3*time.Second, waits)
	if left := s.Left(&corev1.ConfigMapList{}, preview); left != len(kept) {
		t.Errorf("%d of %d objects left before the approval", left, len(kept))
	}
	approveUntil(s, p, func() error {
		left := s.Left(&corev1.ConfigMapList{}, preview)
		return cluster.Want(left <= way.stay, "%d objects left, want at most %d", left, way.stay)
	})
	s.Calm()
}
