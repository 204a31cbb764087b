// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

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
