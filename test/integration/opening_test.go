// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestDeferredObjectsAreSpread: objects that become due while no window is open are deleted after it has opened, and in the order
// of their due times. A window opens in each minute with an odd number.
func TestDeferredObjectsAreSpread(t *testing.T) {
	if os.Getenv("SUNSET_LONG") == "" {
		t.Skip("needs a control plane for two minutes: set SUNSET_LONG=1")
	}
	const number, outOfOrder = 60, 6 // each second, several objects are deleted at the same time
	w := newEnv(t)
	w.sunset()
	p := w.policy("windows", `
mode: Enforce
windows: [{schedule: "1-59/2 * * * *", duration: 1m}]
rules:
- name: previews
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: preview}}}
  eligible: "true"
  startTime: timestamp(object.data.at)
  ttl: 0s
`)
	closed := time.Now().UTC().Truncate(2 * time.Minute).Add(2 * time.Minute)
	opens := closed.Add(time.Minute)
	for i := range number {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("cm-%02d", i), Labels: preview}}
		cm.Data = map[string]string{"at": closed.Add(time.Duration(i) * time.Minute / number).Format(time.RFC3339)}
		w.create(cm)
	}
	reported := false
	cluster.Eventually(w, 3*time.Minute+patience, func() error {
		left := &corev1.ConfigMapList{}
		asked := time.Now()
		expect.NoError(t, w.List(t.Context(), left, client.InNamespace(w.namespace), client.MatchingLabels(preview)))
		names := make([]string, len(left.Items))
		for i := range left.Items {
			names[i] = left.Items[i].Name
		}
		slices.Sort(names)
		gone := number - len(names)
		if answered := time.Now(); gone > 0 && answered.Before(opens) {
			t.Fatalf("%d objects are gone at %s, before the window opens at %s", gone, answered, opens)
		}
		if asked.After(closed) && asked.Before(opens) && !reported {
			current := &v1alpha1.ClusterRetentionPolicy{}
			expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(p), current))
			reported = w.condition(current.Status, v1alpha1.ConditionEnforcing).Reason == "OutsideWindows"
		}
		if len(names) == 0 {
			return nil
		}
		if first := fmt.Sprintf("cm-%02d", max(0, gone-outOfOrder)); names[0] < first {
			t.Fatalf("%s still exists, but %d objects are gone", names[0], gone)
		}
		return fmt.Errorf("%d objects are left", len(names))
	})
	if !reported {
		t.Error("the policy has not reported that its windows are closed")
	}
}

// TestFreezeOfAllPoliciesStopsDeletions: a freeze applies to other policies, although its own policy is a dry run. When it ends, the
// objects go.
func TestFreezeOfAllPoliciesStopsDeletions(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	w.policy("previews", fmt.Sprintf(previews, "Enforce", "10s"))
	cm := w.configMap("cm", preview)
	from, to := time.Now().Add(-time.Second).UTC(), time.Now().Add(time.Hour).UTC()
	freeze := w.policy("audit", fmt.Sprintf("freezes: [{from: %q, to: %q, reason: audit, allPolicies: true}]\n", from.Format(time.RFC3339), to.Format(time.RFC3339)))
	w.status(freeze, func(s v1alpha1.RetentionPolicyStatus) error {
		return contains(w.condition(s, v1alpha1.ConditionReady).Message, "only its freezes with allPolicies stop deletions by other policies")
	})
	w.stays(12*time.Second, cm)
	w.edit(freeze, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Freezes[0].To = metav1.NewTime(time.Now()) })
	w.gone(cm)
}
