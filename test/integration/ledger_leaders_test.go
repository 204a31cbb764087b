// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// Limits allow most of a backlog, which is counted by outcome.
const (
	leadersBacklog = 60
	leadersLimit   = 50
)

var leaders = fmt.Sprintf(previews, "Enforce", "0s") + fmt.Sprintf("  outcome: \"'Done'\"\nlimits: {maxDeletions: %d, window: 1h}\n", leadersLimit)

// backlogOf is a policy with a backlog.
func backlogOf(t *testing.T) (w *env, p *v1alpha1.ClusterRetentionPolicy) {
	w = newEnv(t)
	for i := range leadersBacklog {
		w.configMap(fmt.Sprintf("cm-%d", i), preview)
	}
	p = w.policy("leaders", leaders)
	expect.NoError(t, w.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	return w, p
}

func (w *env) countLeft() (int, error) {
	left := &corev1.ConfigMapList{}
	err := w.List(w.Context(), left, client.InNamespace(w.namespace), client.MatchingLabels(preview))
	return len(left.Items), err
}

// inTheMiddle waits until part of the backlog is deleted.
func (w *env) inTheMiddle() {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		left, err := w.countLeft()
		if err == nil && left > leadersBacklog-6 {
			err = fmt.Errorf("%d ConfigMaps are left", left)
		}
		return err
	})
}

// drained waits until everything that limits allow is deleted and counted.
func (w *env) drained(p *v1alpha1.ClusterRetentionPolicy) {
	w.Helper()
	w.counted(p, func(l *v1alpha1.RetentionLedger) error {
		left, err := w.countLeft()
		if n := l.Total.Deleted + l.Total.Gone; err == nil && (n != leadersLimit || left != leadersBacklog-leadersLimit || len(l.Open) > 0) {
			err = fmt.Errorf("%d ConfigMaps are left", left)
		}
		return err
	})
}

// Without leader election two controllers may lead. The newer one takes the ledgers, and the older one ends and logs the
// reason.
func TestLedgersMoveToNewerLeader(t *testing.T) {
	w, p := backlogOf(t)
	alone := []string{"--leader-elect=false", "--max-deletions-per-second=8"}
	first := controller(t, w.view(p), alone...)
	w.inTheMiddle()
	second := controller(t, w.view(p), alone...)
	if log := first.endsByItself(t); !strings.Contains(log, "another controller holds the ledger") {
		t.Error("the controller does not log why it ended")
	}
	w.drained(p)
	second.stop(t)
	w.drained(p)
}
