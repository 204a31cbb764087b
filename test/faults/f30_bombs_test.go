// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestF30ExpressionsThatTakeForEver has a rule that takes seconds for each of several large ConfigMaps, which change all the
// time. Sunset keeps them, and the policy reports their number and the reason. Other ConfigMaps, which arrive on the same
// watch, are deleted on time, and so are Jobs.
func TestF30ExpressionsThatTakeForEver(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	const bombs, promptly = 12, 10 * time.Second
	large := map[string]string{}
	for i := range 4000 {
		large[fmt.Sprintf("key-%d", i)] = "x"
	}
	var stay []client.Object
	for i := range bombs {
		stay = append(stay, s.ConfigMap(fmt.Sprintf("bomb-%d", i), map[string]string{"env": "bomb"}, func(c *corev1.ConfigMap) { c.Data = large }))
	}
	pair(s, scenario.Start{})
	s.Policy("previews", previews(v1alpha1.Enforce, "2s"))
	s.Policy("jobs", `
mode: Enforce
rules:
- name: finished
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 2s
`)
	latest := func(name string, rounds int) (late time.Duration) {
		for round := range rounds {
			for _, bomb := range stay {
				s.Touch(bomb)
			}
			cm, job := s.ConfigMap(fmt.Sprintf("%s-%d", name, round), preview), s.FinishedJob(fmt.Sprintf("%s-%d", name, round))
			due := job.Status.CompletionTime.Add(2 * time.Second) // the ConfigMap is due before
			s.Gone(cm, job)
			late = max(late, time.Since(due))
		}
		return late
	}
	usually := latest("before", 2)
	p := s.Policy("bombs", `
mode: Enforce
rules:
- name: bombs
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: bomb}}}
  eligible: object.data.all(a, object.data.all(b, a.size() + b.size() > 0))
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`)
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(len(status.Rules) == 1 && status.Rules[0].Errors == bombs, "status has %+v", status.Rules)
	})
	late := latest("beside", 5)
	t.Logf("other objects were deleted at most %s after they were due, and at most %s without the policy; times have a resolution of one second",
		late.Round(time.Millisecond), usually.Round(time.Millisecond))
	if late > promptly+10*usually { // a busy machine is late without them, too
		t.Errorf("other objects were deleted %s late, but %s late without the policy", late, usually)
	}
	s.Stays(5*time.Second, stay...)
	s.Calm()
}
