// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF38OthersWriteToTheLedgerAllTheTime writes to the ledger and to the policy's status all the time, so that writes of
// Sunset meet conflicts.
func TestF38OthersWriteToTheLedgerAllTheTime(t *testing.T) {
	scenario.Long(t)
	const limit = 40
	s := scenario.New(t, scenario.Options{})
	p, r := inBacklog(s, limit)
	stop := meddle(s, p)
	byLedger(s, p, limit)
	tells(s, p, v1alpha1.ConditionEnforcing, "LimitReached")
	conflicts := with(http.StatusConflict, r.Proxy.Journal())
	s.ExpectThat("writes with conflicts", func() bool { return len(conflicts) > 0 })
	s.Logf("%d writes by others, %d conflicts", stop(), len(conflicts))
	if err := left(s, preview, backlog-limit); err != nil {
		t.Error(err)
	}
	s.Calm()
}

// TestF38TheLedgerIsDeleted deletes the ledger in the middle of a backlog. The number of deletions within the limit is lost,
// so Sunset deletes nothing until a user resets the count.
func TestF38TheLedgerIsDeleted(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{Unsettled: "the counts are deleted with the ledger"})
	p, r := inBacklog(s, 1000)
	s.Remove(s.Ledger(p))
	tells(s, p, v1alpha1.ConditionEnforcing, "LedgerUnavailable", "status.ledger")
	failsClosed(s, r)
	r.Kill() // the next process has no more information
	r.Restart()
	s.Leader()
	tells(s, p, v1alpha1.ConditionEnforcing, "LedgerUnavailable", "status.ledger")
	failsClosed(s, r)
	forget := client.RawPatch(types.MergePatchType, []byte(`{"status":{"ledger":null}}`))
	expect.NoError(t, s.Client.Status().Patch(t.Context(), p.DeepCopy(), forget))
	s.Eventually(func() error { return left(s, preview, 0) })
}

// TestF38AUserTakesTheLedger writes another holder into the ledger. The replica that held it must end, and the next replica
// continues with the counts.
func TestF38AUserTakesTheLedger(t *testing.T) {
	scenario.Long(t)
	const limit = 40
	s := scenario.New(t, scenario.Options{})
	p, r := inBacklog(s, limit)
	l := s.Ledger(p)
	s.Change(l, func() { l.Holder = "a-user" })
	select {
	case <-r.Ended():
	case <-time.After(scenario.Patience()):
		t.Fatal("the replica continues although it does not hold the ledger")
	}
	failsClosed(s, r)
	r.Restart()
	byLedger(s, p, limit)
	if err := left(s, preview, backlog-limit); err != nil {
		t.Error(err)
	}
	s.Calm()
}

// TestF38TheLedgerIsTooLarge makes a ledger too large to be written. Sunset deletes only objects that are recorded in it.
func TestF38TheLedgerIsTooLarge(t *testing.T) {
	scenario.Long(t)
	s := scenario.New(t, scenario.Options{})
	p, r := inBacklog(s, 1000)
	full := r.Proxy.Arm(proxy.Fault{Match: proxy.Requests("update", "retentionledgers"),
		Answer: &proxy.Answer{Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge}})
	s.Expect(full)
	fired(s, full)
	tells(s, p, v1alpha1.ConditionEnforcing, "LedgerUnavailable")
	s.Stays(5*time.Second, s.ConfigMap("later", preview))
	full.Lift()
	byLedger(s, p, backlog+1)
	s.Calm()
}

const backlog = 60

// inBacklog returns a policy with limits, and a controller in the middle of its backlog.
func inBacklog(s *scenario.Scenario, limit int) (*v1alpha1.ClusterRetentionPolicy, *scenario.Replica) {
	s.Helper()
	configMaps(s, "cm", backlog, preview)
	p := s.Policy("previews", previews("DryRun", "0s")+limited(limit))
	r := s.Sunset(scenario.Start{Failover: true, Flags: []string{"--max-deletions-per-second=6"}})
	counted(s, p, backlog)
	s.Edit(p, enforces)
	middle(s, backlog)
	return p, r
}

// failsClosed fails the test if more objects are deleted than those with a DELETE in flight.
func failsClosed(s *scenario.Scenario, r *scenario.Replica) {
	s.Helper()
	before := s.Left(&corev1.ConfigMapList{}, preview)
	if before == 0 {
		scenario.Void(s, "no object is left")
	}
	silent(s.T, 3*time.Second, r)
	if after := s.Left(&corev1.ConfigMapList{}, preview); after != before {
		s.Errorf("%d objects were left and now %d: an object was deleted without a ledger entry", before, after)
	}
}

// meddle writes to the ledger and the status of a policy until stop is called, which returns the number of writes.
func meddle(s *scenario.Scenario, p *v1alpha1.ClusterRetentionPolicy) (stop func() int64) {
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan struct{})
	var n atomic.Int64
	go func() {
		defer close(ended)
		l := &v1alpha1.RetentionLedger{ObjectMeta: metav1.ObjectMeta{Name: string(p.UID)}}
		for ctx.Err() == nil {
			note := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/n":"%d"}}}`, n.Add(1))
			_ = s.Patch(ctx, l.DeepCopy(), client.RawPatch(types.MergePatchType, note))
			_ = s.Client.Status().Patch(ctx, p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"matched":0}}`)))
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	stop = func() int64 {
		cancel()
		<-ended
		return n.Load()
	}
	s.Cleanup(func() { stop() })
	return stop
}
