// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/bubble"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestThrottledNamespacesAreNamed in the condition Enforcing.
func TestThrottledNamespacesAreNamed(t *testing.T) {
	const all = "Sunset deletes objects when they are due"
	for name, test := range map[string]struct {
		throttled []string
		want      string
	}{
		"none":              {nil, all},
		"one":               {[]string{"team-a"}, "Sunset deletes objects slowly in team-a: DELETE requests there are slow or fail; check the admission webhooks that select these namespaces; if requests fail, the controller log has the errors"},
		"one without rules": {[]string{"kube-system"}, all},
	} {
		runInBubble(t, name, func(w *harness) { w.create(policyOf(v1alpha1.Enforce, rule("a")), noStatus) }, func(t *testing.T, w *harness) {
			w.set(func() {
				k := kindOf(compiledOf(policyOf(v1alpha1.Enforce, rule("a"))), w.began)
				k.Throttled = test.throttled
				w.kinds = append(w.kinds, k)
			})
			bubble.Pass(10 * time.Second)
			reason := "Enforcing"
			if test.want != all {
				reason = "Throttled"
			}
			expect.Equal(t, "enforcing", "True "+reason, condition(w.status(), v1alpha1.ConditionEnforcing))
			expect.Equal(t, "message", test.want, message(w.status(), v1alpha1.ConditionEnforcing))
		})
	}
}
