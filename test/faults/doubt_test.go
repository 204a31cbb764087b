// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
)

// TestExpressionThatFailsKeeps has an expression that fails on an object that is due under another policy. The object is
// kept until it changes and the expression no longer fails.
func TestExpressionThatFailsKeeps(t *testing.T) {
	scenario.Short(t)
	s := scenario.New(t, scenario.Options{})
	doubtful := s.Policy("doubtful", `
mode: Enforce
rules:
- name: read
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: object.data.read == 'yes'
  startTime: object.metadata.creationTimestamp
  ttl: 1s
`)
	s.Policy("previews", previews("Enforce", "1s"))
	s.Sunset(scenario.Start{})
	unreadable := s.ConfigMap("unreadable", preview)
	s.Gone(s.ConfigMap("read", preview, func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"read": "yes"} }))
	s.Stays(2*time.Second, unreadable)
	s.Status(doubtful, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.Errors > 0, "status reports no errors")
	})
	s.Change(unreadable, func() { unreadable.Data = map[string]string{"read": "no"} })
	s.Gone(unreadable)
	s.Calm()
}

// TestTimeToLiveStartsAgain uses an object again before its TTL ends, under a rule without startTime. Its TTL starts again when the
// object is no longer in use.
func TestTimeToLiveStartsAgain(t *testing.T) {
	scenario.Short(t)
	const ttl = 10 * time.Second
	s := scenario.New(t, scenario.Options{})
	s.Policy("retired", `
mode: Enforce
rules:
- name: retired
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: object.metadata.labels.retired == 'yes'
  ttl: 10s
`)
	s.Sunset(scenario.Start{})
	retired := map[string]string{"env": "preview", "retired": "yes"}
	s.Gone(s.ConfigMap("first", retired)) // from here on, the leader has seen all objects
	used := s.ConfigMap("used", retired)
	s.Eventually(func() error { return hasMark(s, used) })
	time.Sleep(ttl / 4)
	s.Change(used, func() { used.Labels["retired"] = "no" })
	for seen := time.Now(); hasMark(s, used) == nil && time.Since(seen) < ttl; { // the mutant keeps the mark
		time.Sleep(50 * time.Millisecond)
	}
	again := time.Now()
	s.Change(used, func() { used.Labels["retired"] = "yes" })
	s.Gone(used)
	if early := ttl - time.Since(again); early > 0 {
		t.Errorf("it was deleted %s too early", early)
	}
	s.Calm()
}

// hasMark returns an error unless an object has a mark.
func hasMark(s *scenario.Scenario, object *corev1.ConfigMap) error {
	if err := s.Get(s.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	return cluster.Want(object.Annotations[v1alpha1.EligibleSinceAnnotation] != "", "the object has no mark")
}
