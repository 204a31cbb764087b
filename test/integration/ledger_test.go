// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// counted waits until the ledger of a policy satisfies want.
func (w *env) counted(p *v1alpha1.ClusterRetentionPolicy, want func(*v1alpha1.RetentionLedger) error) *v1alpha1.RetentionLedger {
	w.Helper()
	expect.NoError(w, w.Get(w.Context(), client.ObjectKeyFromObject(p), p))
	l := &v1alpha1.RetentionLedger{}
	cluster.Eventually(w, patience, func() error {
		*l = v1alpha1.RetentionLedger{}
		if err := w.Get(w.Context(), types.NamespacedName{Name: string(p.UID)}, l); err != nil {
			return err
		}
		if err := want(l); err != nil {
			return fmt.Errorf("%w; the ledger has %+v, spent %v, %d groups open", err, l.Total, l.Spent, len(l.Open))
		}
		return nil
	})
	return l
}

// has requires a ledger with this many deletions and no open entries.
func has(deleted, gone int64) func(*v1alpha1.RetentionLedger) error {
	return func(l *v1alpha1.RetentionLedger) error {
		if l.Total != (v1alpha1.LedgerCount{Deleted: deleted, Gone: gone}) || len(l.Open) > 0 {
			return fmt.Errorf("want %d deleted and %d gone", deleted, gone)
		}
		return nil
	}
}

func TestOutcomesAreCounted(t *testing.T) {
	w := newEnv(t)
	p := w.policy("counted", `
mode: Enforce
rules:
- name: jobs
  target: {apiVersion: batch/v1, kind: Job}
  eligible: finished(object)
  startTime: finishedAt(object)
  ttl: 0s
  outcome: "succeeded(object) ? 'Succeeded' : 'Failed'"
`)
	var jobs []*batchv1.Job
	for i := range 6 {
		outcome := cluster.Succeeded
		if i%3 == 0 {
			outcome = cluster.Failed
		}
		jobs = append(jobs, w.job(fmt.Sprintf("job-%d", i), outcome, 0))
	}
	w.sunset()
	for _, job := range jobs {
		w.gone(job)
	}
	l := w.counted(p, has(6, 0))
	want := []v1alpha1.LedgerOutcome{
		{Name: "Failed", LedgerCount: v1alpha1.LedgerCount{Deleted: 2}}, {Name: "Succeeded", LedgerCount: v1alpha1.LedgerCount{Deleted: 4}},
	}
	if len(l.Namespaces) != 1 || l.Namespaces[0].Deleted != 6 {
		t.Errorf("namespaces %v", l.Namespaces)
	}
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Deleted != 6 || s.Ledger == nil || s.Ledger.Deleted != 6 || fmt.Sprint(s.Rules[0].Outcomes) != fmt.Sprint(want) {
			return fmt.Errorf("want 6 deleted, %v", want)
		}
		return nil
	})
}
