// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sunset-k8s/sunset/controllers/kube/referrers"
	"github.com/sunset-k8s/sunset/controllers/policyset"
	"github.com/sunset-k8s/sunset/controllers/policyset/permissions"
	"github.com/sunset-k8s/sunset/controllers/retention"
	"github.com/sunset-k8s/sunset/policy"
)

// warm reports whether this process watches objects before it leads.
func (c *Config) warm() bool { return c.WarmStandby && c.Election.Enabled }

// addStandby has the objects and the referrers watched before this process leads, by rules that a second policyset.Reconciler
// publishes. It knows neither the statuses of policies nor what waits for approval, because the leader changes these. So the
// Reconciler of the leader starts without its state, and ends it.
func (c *Config) addStandby(mgr manager.Manager, leader *policyset.Reconciler, reconciler *retention.Reconciler, referring *referrers.Watcher, permissionLoop *permissions.Refresher) error {
	standby := leader.Standby
	var err error
	if standby.Live, err = c.liveClient(standby); err != nil {
		return err
	}
	standby.Subscribers = []func(policyset.CompiledSnapshot){
		func(s policyset.CompiledSnapshot) { referring.Use(s.References, s.Asked, s.InvalidReferences...) },
		func(s policyset.CompiledSnapshot) { reconciler.UseOnStandby(s.Snapshot, s.Programs) },
		func(policyset.CompiledSnapshot) { permissionLoop.Refresh() },
	}
	permissionLoop.OnStandby = true
	permissionLoop.Rules = func() []*policy.Rule { return append(standby.OwnRules(), leader.OwnRules()...) } // one of them has none
	permissionLoop.Changed = func() { standby.Republish(); leader.Republish() }
	if err := mgr.Add(onEveryReplica{reconciler.Watch}); err != nil {
		return err
	}
	return standby.Setup(mgr)
}

// onEveryReplica is a manager.Runnable that does not wait until this process leads.
type onEveryReplica struct{ manager.RunnableFunc }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (onEveryReplica) NeedLeaderElection() bool { return false }
