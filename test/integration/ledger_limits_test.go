// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// limited is previews with a limit of deletions in a window.
func limited(n int64, window string) string {
	return fmt.Sprintf(previews, "Enforce", "0s") + fmt.Sprintf("limits: {maxDeletions: %d, window: %s}\n", n, window)
}

// allow edits limits; an empty window removes them.
func (w *env) allow(p *v1alpha1.ClusterRetentionPolicy, n int64, window string) {
	w.Helper()
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) {
		if s.Limits = nil; window != "" {
			s.Limits = &v1alpha1.Limits{MaxDeletions: int32(n), Window: window}
		}
	})
}

// reached requires a status with this many deletions that reports that limits allow no more.
func reached(w *env, n int64) func(v1alpha1.RetentionPolicyStatus) error {
	return func(s v1alpha1.RetentionPolicyStatus) error {
		c := w.condition(s, v1alpha1.ConditionEnforcing)
		switch {
		case c.Status != metav1.ConditionFalse || c.Reason != "LimitReached":
			return fmt.Errorf("enforcing is %s, %s", c.Status, c.Reason)
		case s.Deleted != n || s.Ledger == nil || s.Ledger.Deleted != n || s.Ledger.Open != 0 || s.Ledger.Charged == nil || *s.Ledger.Charged != n || s.Ledger.NextAllowedTime == nil:
			return fmt.Errorf("want %d deleted and charged", n)
		}
		return nil
	}
}

func TestLimitsHold(t *testing.T) {
	w := newEnv(t)
	p := w.policy("limited", limited(0, "1h"))
	var all []client.Object
	for i := range 8 {
		all = append(all, w.configMap(fmt.Sprintf("cm-%d", i), preview))
	}
	stop := w.sunset()
	w.status(p, reached(w, 0))
	w.stays(time.Second, all...)
	w.allow(p, 3, "1h")
	w.status(p, reached(w, 3))
	first := w.counted(p, has(3, 0)).Holder
	stop()
	w.sunset() // a new controller with no state in memory
	w.counted(p, func(l *v1alpha1.RetentionLedger) error {
		if l.Holder == first {
			return fmt.Errorf("%s still holds the ledger", first)
		}
		return has(3, 0)(l)
	})
	w.configMap("later", preview)
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Matched != 6 {
			return fmt.Errorf("%d matched", s.Matched)
		}
		return reached(w, 3)(s)
	})

	w.allow(p, 5, "1h")
	w.status(p, reached(w, 5))
	w.allow(p, 100, "2h")
	w.counted(p, has(9, 0))
}

func TestLimitsAllowMoreAfterWindow(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("limited", limited(2, "1s"))
	for i := range 4 {
		w.configMap(fmt.Sprintf("cm-%d", i), preview)
	}
	spent := w.counted(p, has(2, 0)).Spent
	until := spent[len(spent)-1].EndTime.Add(time.Second) // allow a difference between the clocks
	w.counted(p, func(l *v1alpha1.RetentionLedger) error {
		if now := time.Now(); l.Total.Deleted > 2 && now.Before(until) {
			w.Errorf("%d deleted %s before the end of the window", l.Total.Deleted, until.Sub(now))
		}
		return has(4, 0)(l)
	})
}

func TestNamespacesOwnLimits(t *testing.T) {
	w := newEnv(t)
	w.account("cleaner", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "delete"}})
	for i := range 3 {
		w.configMap(fmt.Sprintf("cm-%d", i), preview)
	}
	p := w.team("own", fmt.Sprintf(teamRules, "ConfigMap")+"limits: {maxDeletions: 2, window: 1h}\n")
	w.sunset()
	w.teamStatus(p, reached(w, 2))
}

// A policy deletes first without a ledger, then with one, and then without one again.
func TestCountsCarryOver(t *testing.T) {
	w := newEnv(t)
	w.sunset()
	p := w.policy("previews", fmt.Sprintf(previews, "Enforce", "0s"))
	deleted := func(n int64, ledger bool) {
		t.Helper()
		w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
			return cluster.Want(s.Deleted == n && s.Rules[0].Deleted == n && (s.Ledger != nil) == ledger, "want %d deleted", n)
		})
	}
	w.configMap("a", preview)
	w.configMap("b", preview)
	deleted(2, false)
	w.allow(p, 100, "1h")
	deleted(2, true) // deletions in the last second without a ledger may be missing from the counts
	w.configMap("c", preview)
	deleted(3, true)
	w.counted(p, has(3, 0))
	w.allow(p, 0, "")
	deleted(3, false)
	w.configMap("d", preview)
	deleted(4, false)
	w.allow(p, 100, "1h")
	deleted(4, true)
	w.configMap("e", preview)
	deleted(5, true)
	w.counted(p, has(5, 0))
}
