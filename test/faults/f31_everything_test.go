// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// byDefault is the default approval of a policy.
const byDefault = "approval: {maxObjects: 100, maxPercent: 25}\n"

// TestF31APolicyMatchesEverything has a typo that makes a policy match everything. The policy waits for approval, also after
// a change of the leader. The fixed policy deletes only the intended object.
func TestF31APolicyMatchesEverything(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	meant := s.ConfigMap("meant", preview)
	configMaps(s, "precious", 30, map[string]string{"env": "production"})
	leads, waits := pair(s, scenario.Start{Failover: true})
	p := s.Policy("typo", `
mode: Enforce
rules:
- name: everything
  target: {apiVersion: v1, kind: ConfigMap}
  eligible: object.metadata.labels.env != 'previw' || true
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`+byDefault)
	tells(s, p, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	leads.Kill()
	if s.Leader() != waits {
		t.Error("the other replica does not lead")
	}
	s.Touch(meant)
	silent(t, 5*time.Second, waits)
	tells(s, p, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	s.Edit(p, func(spec *v1alpha1.ClusterRetentionPolicySpec) {
		spec.Rules[0].Eligible = "object.metadata.?labels.?env.orValue('') == 'preview'"
	})
	s.Gone(meant)
	if left := s.Left(&corev1.ConfigMapList{}, map[string]string{"env": "production"}); left != 30 {
		t.Errorf("%d of 30 other objects left", left)
	}
	s.Calm()
}

// TestF31APolicyIsDeletedAndCreatedAgain approves a policy, deletes it, and creates it again with the same spec. The approval is still
// there, but the new policy waits for one of its own.
func TestF31APolicyIsDeletedAndCreatedAgain(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	create := func(generation string) *v1alpha1.ClusterRetentionPolicy {
		configMaps(s, generation, 30, preview)
		return s.Policy("previews", previews("Enforce", "0s")+byDefault)
	}
	r := s.Sunset(scenario.Start{})
	p := create("first")
	tells(s, p, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	approve(s, p)
	atMost(s, preview, 0)
	s.Remove(p)
	p = create("second")
	tells(s, p, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	silent(t, 5*time.Second, r)
	if left := s.Left(&corev1.ConfigMapList{}, preview); left != 30 {
		t.Errorf("%d of 30 objects left", left)
	}
	approve(s, p)
	atMost(s, preview, 0)
	s.Calm()
}

// TestF31TheEdgesOfWhatNeedsApproval checks the thresholds of approval: more than a hundred objects, or at least ten and more
// than a quarter of the selected ones.
func TestF31TheEdgesOfWhatNeedsApproval(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	type edge struct {
		due, others int
		waits       bool
	}
	edges := []edge{
		{0, 0, false}, {1, 0, false}, {1, 999, false}, {9, 0, false}, {10, 0, true},
		{10, 30, false}, {11, 32, true}, {100, 300, false}, {101, 400, true},
	}
	policies := map[int]*v1alpha1.ClusterRetentionPolicy{}
	due := func(i int) map[string]string { return map[string]string{"edge": fmt.Sprint(i), "due": "yes"} }
	for i, e := range edges {
		configMaps(s, fmt.Sprintf("due-%d", i), e.due, due(i))
		configMaps(s, fmt.Sprintf("other-%d", i), e.others, map[string]string{"edge": fmt.Sprint(i)})
	}
	pair(s, scenario.Start{})
	for i := range edges {
		policies[i] = s.Policy(fmt.Sprint("edge-", i), fmt.Sprintf(`
mode: Enforce
rules:
- name: edge
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {edge: "%d"}}}
  eligible: "'due' in object.metadata.labels"
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`, i)+byDefault)
	}
	for i, e := range edges {
		if e.waits {
			tells(s, policies[i], v1alpha1.ConditionEnforcing, "ApprovalRequired")
		} else {
			atMost(s, due(i), 0)
			enforcing(s, policies[i])
		}
	}
	for i, e := range edges {
		if !e.waits {
			continue
		}
		if left := s.Left(&corev1.ConfigMapList{}, due(i)); left != e.due {
			t.Errorf("%d of %d due: %d objects left, but all should wait", e.due, e.due+e.others, left)
		}
		approve(s, policies[i])
		atMost(s, due(i), 0)
	}
	s.Calm()
}
