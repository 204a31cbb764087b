// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// Limits allow most of a backlog, which is counted by outcome.
const (
	leadersBacklog = 300
	leadersLimit   = 250
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
		if err == nil && left > leadersBacklog-30 {
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

// A leader is paused in the middle and resumes when another one leads. Only the requests in flight reach the API server,
// with preconditions and recorded in the ledger, and the old leader ends automatically.
func TestLeaderThatComesBackFromTheDead(t *testing.T) {
	w, p := backlogOf(t)
	elect := []string{"--namespace", newEnv(t).namespace, "--leader-elect-lease-duration=12s",
		"--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=1s"}
	g := w.view(p)
	var back atomic.Bool
	var late, unfenced atomic.Int64
	deletes := w.ofConfigMap(http.MethodDelete, "")
	sent := recorded(g, func(r *http.Request) bool {
		if !deletes(r) {
			return false
		}
		if back.Load() {
			late.Add(1)
		}
		return true
	})
	first := controller(t, g, append(elect, "--max-deletions-per-second=30")...)
	w.inTheMiddle()
	expect.NoError(t, first.Process.Signal(syscall.SIGSTOP))
	l := w.counted(p, func(l *v1alpha1.RetentionLedger) error { return nil })
	controller(t, w.view(p), append(elect, "--max-deletions-per-second=30")...)
	w.counted(p, func(now *v1alpha1.RetentionLedger) error {
		return cluster.Want(now.Holder != l.Holder, "%s still holds the ledger", now.Holder)
	})
	back.Store(true)
	expect.NoError(t, first.Process.Signal(syscall.SIGCONT))
	first.endsByItself(t)
	w.drained(p)
	for _, request := range sent() {
		if contains(request, `"resourceVersion"`, `"uid"`) != nil {
			unfenced.Add(1)
		}
	}
	if n := late.Load(); n > 16 || unfenced.Load() > 0 {
		t.Errorf("%d DELETEs from the old leader, %d without preconditions in total", n, unfenced.Load())
	}
	t.Logf("%d DELETEs from the old leader", late.Load())
}

// Without leader election two controllers may lead. The newer one takes the ledgers, and the older one ends and logs the
// reason.
func TestLedgersMoveToNewerLeader(t *testing.T) {
	w, p := backlogOf(t)
	alone := []string{"--leader-elect=false", "--max-deletions-per-second=40"}
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
