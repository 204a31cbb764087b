// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/fixture"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF48RelistsOverlapEdits edits a ClusterRetentionPolicy and a RetentionPolicy repeatedly. With each edit all watches end
// and cannot be resumed, and the next list of ConfigMaps takes longer than until the next edit. Sunset never applies an edit
// to facts that it read before the edit. Each edit waits for approval with all objects that it makes due; then Sunset deletes
// only these objects.
func TestF48RelistsOverlapEdits(t *testing.T) {
	scenario.Long(t)
	const rounds, each = 3, 12
	s := scenario.New(t, scenario.Options{Alone: true})
	cleaner(s)
	spec := func(env string, round int) string {
		return fmt.Sprintf(`
mode: Enforce
approval: {maxObjects: 10, maxPercent: 25}
rules:
- name: %s
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: %[1]s}}}
  eligible: object.metadata.labels.round == '%d'
  startTime: object.metadata.creationTimestamp
  ttl: 0s
`, env, round)
	}
	p := s.Policy("edited", spec("preview", 0))
	own := s.Override("edited", "serviceAccountName: cleaner"+spec("own", 0))
	leads, _ := pair(s, scenario.Start{})
	enforcing(s, p)

	slow := leads.Proxy.Arm(proxy.Fault{Match: relists("configmaps"), Delay: 700 * time.Millisecond})
	expired := leads.Proxy.Arm(proxy.Fault{Match: resumes("configmaps"), Answer: &proxy.Answer{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}})
	s.Expect(slow, expired)
	befell(s, leads, "closed connections", func(t proxy.Counts) int { return t.Cut })
	for round := 1; round <= rounds; round++ {
		for _, env := range []string{"preview", "own"} {
			configMaps(s, fmt.Sprintf("%s-%d", env, round), each, map[string]string{"env": env, "round": fmt.Sprint(round)})
		}
		for _, r := range []int{round, -1, round} { // forth, back, and forth again
			eligible := fmt.Sprintf("object.metadata.labels.round == '%d'", r)
			s.Edit(p, func(spec *v1alpha1.ClusterRetentionPolicySpec) { spec.Rules[0].Eligible = eligible })
			s.Change(own, func() { own.Spec.Rules[0].Eligible = eligible })
			leads.Proxy.Cut()
			time.Sleep(time.Duration(s.Rand.Int64N(int64(time.Second))))
		}
		pending(s, p, func() v1alpha1.RetentionPolicyStatus { return p.Status }, each)
		pending(s, own, func() v1alpha1.RetentionPolicyStatus { return own.Status }, each)
		left := func() int {
			return s.Left(&corev1.ConfigMapList{}, preview) + s.Left(&corev1.ConfigMapList{}, env("own"))
		}
		if n := left(); n != 2*each {
			t.Errorf("round %d: %d of %d objects left before any approval", round, n, 2*each)
		}
		s.Eventually(func() error { // the other policy's edit may need its own approval
			for o, status := range map[client.Object]*v1alpha1.RetentionPolicyStatus{p: &p.Status, own: &own.Status} {
				if err := s.Get(s.Context(), client.ObjectKeyFromObject(o), o); err != nil {
					return err
				}
				if waits := status.PendingApproval; waits != nil {
					if err := s.Create(s.Context(), fixture.Approval(o, waits.Hash)); !apierrors.IsAlreadyExists(err) && err != nil {
						return err
					}
				}
			}
			n := left()
			return cluster.Want(n == 0, "%d objects left", n)
		})
	}
	slow.Lift()
	expired.Lift()
	s.Calm()
}

// pending waits until a policy waits for approval with the given number of due objects.
func pending(s *scenario.Scenario, policy client.Object, status func() v1alpha1.RetentionPolicyStatus, due int64) {
	s.Helper()
	s.Eventually(func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		now := status()
		if now.PendingApproval == nil || now.ObservedGeneration != policy.GetGeneration() || now.PendingApproval.Due.Now != due {
			return fmt.Errorf("%s does not wait with %d objects: %+v, %+v", policy.GetName(), due, now.PendingApproval, now.Conditions)
		}
		return nil
	})
}

// cleaner creates a ServiceAccount that may delete ConfigMaps of the scenario's namespace.
func cleaner(s *scenario.Scenario) {
	meta := metav1.ObjectMeta{Namespace: s.Namespace, Name: "cleaner"}
	s.MustCreate(&corev1.ServiceAccount{ObjectMeta: meta})
	s.MustCreate(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "delete"}}}})
	s.MustCreate(&rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: meta.Namespace, Name: meta.Name}},
	})
}
