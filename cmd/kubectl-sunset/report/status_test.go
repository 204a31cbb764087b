// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/test/expect"
)

func TestPageOfStatus(t *testing.T) {
	policy := func(name, status, reason string) map[string]any {
		condition := func(kind string) any {
			return map[string]any{"type": kind, "status": status, "reason": reason, "message": "rule jobs <fails>"}
		}
		return map[string]any{
			"apiVersion": "sunset-k8s.io/v1alpha1", "kind": "ClusterRetentionPolicy", "metadata": map[string]any{"name": name, "generation": int64(1)},
			"spec": map[string]any{"mode": "Enforce", "rules": []any{map[string]any{"name": "jobs", "target": map[string]any{"kind": "Job"}}}},
			"status": map[string]any{
				"observedGeneration": int64(1), "matched": int64(20), "conditions": []any{condition("Ready"), condition("Enforcing")},
				"rules": []any{map[string]any{"name": "jobs", "soonest": []any{map[string]any{"namespace": "a", "name": "of-" + name, "dueTime": "2026-03-01T13:00:00Z"}}}},
			},
		}
	}
	list, err := status.NewList([]map[string]any{policy("works", "True", "Ready"), policy("fails", "False", "EvaluationFailed")})
	expect.NoError(t, err)
	text := written(t, report.OfStatus(list, at))
	for _, want := range []string{
		`<td>works<td>Enforce<td>True<td class="number">20`,
		"<td>a<td>Job<td>of-works<td>2026-03-01T13:00:00Z<td>in 60m<td>works/jobs",
		"<td>fails<td>Ready<td>EvaluationFailed<td>rule jobs &lt;fails&gt;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not on the page:\n%s", want, text)
		}
	}
	if strings.Contains(text, "of-fails") {
		t.Error("the page shows an object of a policy that deletes nothing")
	}
}
