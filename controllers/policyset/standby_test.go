// SPDX-License-Identifier: Apache-2.0

package policyset_test

import (
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/test/expect"
)

// TestStandbyEndsBeforeTheLeaderPublishes: the last snapshot is always one of the leader, which knows statuses and approvals.
func TestStandbyEndsBeforeTheLeaderPublishes(t *testing.T) {
	s := newServer()
	s.policy("p", spec("Enforce", "1h"))
	standby := newHarness(t, s)
	standby.OnStandby = true
	leader := newUnreadHarness(t, s)
	leader.Standby = standby.Reconciler
	publish := leader.Subscribers[0]
	leader.Subscribers[0] = func(e policyset.CompiledSnapshot) {
		var republish sync.WaitGroup
		republish.Go(standby.Republish) // in a goroutine of its own: the lock order is that of one Reconciler
		republish.Wait()
		publish(e)
	}
	expect.Equal(t, "snapshots of the standby", 1, len(standby.published))
	leader.reconcile()
	expect.Equal(t, "rules of the leader", enforced, leader.rules("team-a"))
	s.policy("p", spec("Enforce", "2h"))
	s.sync()
	_, err := standby.Reconcile(t.Context(), reconcile.Request{})
	expect.NoError(t, err)
	standby.Republish()
	leader.reconcile()
	expect.Equal(t, "snapshots of the standby after its end", 1, len(standby.published))
	expect.Equal(t, "rules of the standby", 0, len(standby.OwnRules()))
	expect.Equal(t, "snapshots of the leader", 2, len(leader.published))
}

// heldCompiler compiles nothing until it is released.
type heldCompiler struct {
	policyset.Compiler
	began, release chan struct{}
}

func (c heldCompiler) LoadWithin(p *policy.Policy, room int) (map[string]*engine.Program, int) {
	c.began <- struct{}{}
	<-c.release
	return c.Compiler.LoadWithin(p, room)
}

// TestStandbyThatStillCompilesEnds: it waits for nothing when the leader begins, and publishes nothing later.
func TestStandbyThatStillCompilesEnds(t *testing.T) {
	s := newServer()
	s.policy("p", spec("Enforce", "1h"))
	s.sync()
	standby, leader := newUnreadHarness(t, s), newUnreadHarness(t, s)
	slow := heldCompiler{standby.Compiler, make(chan struct{}), make(chan struct{})}
	standby.OnStandby, standby.Compiler, leader.Standby = true, slow, standby.Reconciler
	ended := make(chan error, 1)
	go func() {
		_, err := standby.Reconcile(t.Context(), reconcile.Request{})
		ended <- err
	}()
	<-slow.began
	leader.reconcile()
	expect.NoError(t, <-ended)
	close(slow.release)
	standby.Republish()
	expect.Equal(t, "snapshots of the standby", 0, len(standby.published))
	expect.Equal(t, "rules of the leader", enforced, leader.rules("team-a"))
}
