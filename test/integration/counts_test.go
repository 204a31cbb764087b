package integration_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// TestAMissingLedgerStopsItsPolicy until somebody says, as docs/counts.md tells them, that it is to count anew.
func TestAMissingLedgerStopsItsPolicy(t *testing.T) {
	w := newWorld(t)
	p := w.policy("missing", `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  outcome: "'done'"
`)
	stop := w.sunset()
	w.gone(w.job("first", cluster.Succeeded, 0))
	l := w.counted(p, has(1, 0))
	if err := w.Delete(w.Context(), l); err != nil {
		t.Fatal(err)
	}
	second := w.job("second", cluster.Succeeded, 0)
	w.finished(second)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		for _, c := range s.Conditions {
			if c.Type == v1alpha1.ConditionEnforcing && c.Reason == "LedgerUnavailable" && s.Ledger != nil && s.Deleted == 1 {
				return nil
			}
		}
		return fmt.Errorf("want LedgerUnavailable and 1 deleted")
	})
	stop()
	forget := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "remove", "path": "/status/ledger"}]`))
	if err := w.Status().Patch(w.Context(), p, forget); err != nil {
		t.Fatal(err)
	}
	w.sunset()
	w.gone(second)
	w.counted(p, has(2, 0))
}
