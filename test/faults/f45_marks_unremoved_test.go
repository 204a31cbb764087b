// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// retired is a policy that deletes objects some time after their label says "retired". Namespaces may suspend it.
const retired = `
mode: Enforce
rules:
- name: retired
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: object.metadata.labels.retired == 'yes'
  ttl: %s
  overrideBounds: {allowSuspend: true}
`

// TestF45AMarkThatCouldNotBeRemoved has a leader that sees an object in use and cannot remove its mark, because the namespace
// suspends the rule or every PATCH fails. The leader is killed once the object is no longer in use. The next leader can
// write, and starts the TTL of the object again.
func TestF45AMarkThatCouldNotBeRemoved(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]markFault{
		"suspended": suspendedRule,
		"PATCHes fail": func(s *scenario.Scenario, _ *v1alpha1.ClusterRetentionPolicy, leads *scenario.Replica) func() {
			fails := leads.Proxy.Arm(proxy.Fault{Match: proxy.Requests("patch", "configmaps"), Answer: &proxy.Answer{Code: http.StatusInternalServerError}})
			s.Expect(fails)
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			scenario.Long(t)
			keepsMark(t, scenario.Options{}, way)
		})
	}
}

// markFault prevents the leader from removing a mark. The next leader can remove it after repair.
type markFault func(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, leads *scenario.Replica) (repair func())

func suspendedRule(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy, _ *scenario.Replica) func() {
	pause := s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", p.Name))
	return func() { s.Remove(pause) }
}

func keepsMark(t *testing.T, o scenario.Options, fault markFault) {
	const ttl = 40 * time.Second
	s := scenario.New(t, o)
	p := s.Policy("retired", fmt.Sprintf(retired, ttl))
	leads, waits := pair(s, scenario.Start{Failover: true})
	used := s.ConfigMap("used", map[string]string{"env": "preview", "retired": "yes"})
	s.Eventually(func() error { return hasMark(s, used) })
	marked, mark := time.Now(), used.Annotations[v1alpha1.EligibleSinceAnnotation]
	repair := fault(s, p, leads)
	time.Sleep(time.Second)
	s.Change(used, func() { used.Labels["retired"] = "no" })
	s.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if !leads.Running() {
			scenario.Void(t, "the leader lost its lease before it could distrust the mark")
		}
		if len(status.Rules) == 0 || !slices.Contains(status.Rules[0].DistrustedMarks, s.Namespace) {
			return errors.New("status does not list the namespace in distrustedMarks")
		}
		return nil
	})
	again := time.Now()
	s.Change(used, func() { used.Labels["retired"] = "yes" })
	time.Sleep(time.Second)
	leads.Kill()
	if s.Leader() != waits {
		t.Error("the other replica does not lead")
	}
	repair()
	s.Eventually(func() error {
		switch err := s.Get(s.Context(), client.ObjectKeyFromObject(used), used); {
		case apierrors.IsNotFound(err):
			t.Error("it was deleted with the earlier mark: too early")
			return nil
		case err != nil:
			return err
		default:
			return cluster.Want(used.Annotations[v1alpha1.EligibleSinceAnnotation] != mark, "it still has the earlier mark")
		}
	})
	s.Gone(used)
	t.Logf("it was deleted %s after it was in use, and %s after it was marked", time.Since(again).Round(time.Millisecond), time.Since(marked).Round(time.Millisecond))
	if early := ttl - time.Since(again); early > 0 {
		t.Errorf("it was deleted %s too early", early)
	}
	s.Calm()
}
