// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// TestF37UpgradedDowngradedAndUpgradedAgain upgrades Sunset, downgrades it, and upgrades it again while deletions continue:
// first the definitions, then one replica after the other. Each version leads while the other one is on standby. Twice, one
// version takes over from the other with a DELETE in flight.
func TestF37UpgradedDowngradedAndUpgradedAgain(t *testing.T) {
	scenario.Long(t)
	earlier, today := build.Earlier(t), build.Today(t)
	u := newRollout(scenario.New(t, scenario.Options{Own: true}), earlier)
	one, other := pair(u.Scenario, scenario.Start{Failover: true, Binary: earlier.Controller, Flags: []string{"--max-deletions-per-second=8"}})
	u.runs[one], u.runs[other] = earlier, earlier
	u.approved()
	u.leads(one)

	u.defines(today)
	u.replace(other, today)
	u.leads(one)
	u.overtake(one, other, earlier)
	u.replace(other, today)
	u.leads(one)
	u.replace(one, today)
	u.leads(other)

	u.defines(earlier)
	u.leads(other)
	u.replace(one, earlier)
	u.overtake(other, one, earlier)
	u.leads(one)

	u.defines(today)
	u.replace(other, today)
	u.replace(one, today)
	u.leads(other)
	u.settles()
}

const (
	batch = 16  // previews that are created for each term of a leader
	stock = 200 // objects of policies with limits at the start
	bound = 30  // how many of them the limit allows within the hour
)

// rollout is a cluster in which the version of Sunset changes.
type rollout struct {
	*scenario.Scenario
	runs  map[*scenario.Replica]build.Version
	terms int // number of leaders so far

	previews *v1alpha1.ClusterRetentionPolicy // deletes all the time
	bounded  *v1alpha1.ClusterRetentionPolicy // uses up its limit early
	steady   *v1alpha1.ClusterRetentionPolicy // may delete every few seconds
	newer    *v1alpha1.ClusterRetentionPolicy // has a field that only today's version supports
	pause    *v1alpha1.RetentionPolicy

	made   int                 // number of previews so far
	marked []*corev1.ConfigMap // with their first marks
	late   bool                // the earlier version may have written its status after another replica led: it does not compare resourceVersions
	spare  []client.Object     // of the policy with the new field
	paused []client.Object
	kept   []client.Object // must never be deleted
}

// newRollout creates different policies and objects for them.
func newRollout(s *scenario.Scenario, version build.Version) *rollout {
	s.Helper()
	u := &rollout{Scenario: s, runs: map[*scenario.Replica]build.Version{}}
	u.defines(version)
	u.previews = s.Policy("previews", previews("Enforce", "0s")+limited(1000))
	u.bounded = s.Policy("bounded", labelled("bounded", "Enforce", "0s")+limited(bound)+byDefault)
	u.steady = s.Policy("steady", labelled("steady", "Enforce", "0s")+"limits: {maxDeletions: 6, window: 20s}\n")
	u.newer = s.Policy("newer", labelled("spare", "Enforce", "0s")+"  events: Aggregate\n")
	s.Policy("retired", `
mode: Enforce
rules:
- name: retired
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {env: retired}}}
  eligible: "true"
  ttl: 20s
`)
	s.Policy("rehearsed", labelled("rehearsed", "DryRun", "0s"))
	paused := s.Policy("paused", labelled("paused", "Enforce", "0s"))
	u.pause = s.Override("pause", fmt.Sprintf("overrides: [{policy: %s, suspend: true}]", paused.Name))
	held := s.ConfigMap("held", preview, func(cm *corev1.ConfigMap) { cm.Annotations = map[string]string{v1alpha1.HoldAnnotation: "true"} })
	u.kept = append(u.kept, held, s.ConfigMap("bystander", nil))
	for _, cm := range configMaps(s, "rehearsed", 5, env("rehearsed")) {
		u.kept = append(u.kept, cm)
	}
	for _, cm := range configMaps(s, "paused", 5, env("paused")) {
		u.paused = append(u.paused, cm)
	}
	configMaps(s, "bounded", stock, env("bounded"))
	configMaps(s, "steady", stock, env("steady"))
	return u
}

func env(name string) map[string]string { return map[string]string{"env": name} }

// defines replaces Sunset's CustomResourceDefinitions with those of a version.
func (u *rollout) defines(version build.Version) {
	u.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{version.CRDs}, ErrorIfPathMissing: true}
	if _, err := cluster.InstallCRDs(u.Cluster.Config(), options); err != nil {
		u.Fatal(err)
	}
}

// approved approves the backlog that needs it.
func (u *rollout) approved() {
	u.Helper()
	tells(u.Scenario, u.bounded, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	approve(u.Scenario, u.bounded)
}

// leads waits until a replica leads, and checks that it works as its version should.
func (u *rollout) leads(r *scenario.Replica) {
	u.Helper()
	if u.Leader() != r {
		u.Fatalf("%s is not the leader", r.User)
	}
	u.terms++
	began, before := time.Now(), len(r.Deletes())
	u.comes()
	u.Eventually(func() error {
		n := len(r.Deletes()) - before
		return cluster.Want(n >= batch/2, "leader %s has sent %d DELETEs", r.User, n)
	})
	u.marks()
	u.reads(u.runs[r])
	u.Stays(0, append(u.kept, u.paused...)...)
	u.Logf("term %d, %s: %d DELETEs in %s", u.terms, u.runs[r], len(r.Deletes())-before, time.Since(began).Round(time.Second))
}

// comes creates more objects for the policy that deletes all the time.
func (u *rollout) comes() {
	u.Helper()
	u.made += batch
	configMaps(u.Scenario, fmt.Sprintf("preview-%d", u.made), batch, preview)
}

// marks checks that the leader marks new objects and does not change the marks of earlier leaders. After a late status of the earlier
// version, marks may start again.
func (u *rollout) marks() {
	u.Helper()
	cm := u.ConfigMap(fmt.Sprintf("retired-%d", u.terms), env("retired"))
	u.Eventually(func() error { return hasMark(u.Scenario, cm) })
	for i, before := range u.marked {
		now := before.DeepCopy()
		err := u.Get(u.Context(), client.ObjectKeyFromObject(before), now)
		if client.IgnoreNotFound(err) != nil {
			u.Fatal(err)
		}
		if err != nil {
			continue
		}
		was, is := before.Annotations[v1alpha1.EligibleSinceAnnotation], now.Annotations[v1alpha1.EligibleSinceAnnotation]
		if was > is || was < is && !u.late { // the same key, and times of the same length
			u.Errorf("the mark of %s changed from %s to %s", before.Name, was, is)
		}
		u.marked[i] = now
	}
	u.marked, u.late = append(u.marked, cm), false
}

// reads checks the objects of the policy with the new field. Today's version deletes them; the earlier one keeps them and
// reports why.
func (u *rollout) reads(version build.Version) {
	u.Helper()
	u.spare = append(u.spare, u.ConfigMap(fmt.Sprintf("spare-%d", u.terms), env("spare")))
	if version.IsToday() {
		u.Gone(u.spare...)
		u.spare = nil
		return
	}
	tells(u.Scenario, u.newer, v1alpha1.ConditionValid, "RuleInvalid", "events")
	u.Stays(time.Second, u.spare...)
}

// replace stops a replica cleanly, and starts it with a version when there is another leader.
func (u *rollout) replace(r *scenario.Replica, version build.Version) {
	u.Helper()
	r.Interrupt()
	u.Leader()
	u.start(r, version)
}

func (u *rollout) start(r *scenario.Replica, version build.Version) {
	u.Helper()
	u.runs[r] = version
	r.Restart(func(start *scenario.Start) { start.Binary = version.Controller })
}

// overtake suspends the leader with a DELETE in flight, and lets the next replica lead. Then the first one resumes, the
// DELETE arrives, and the first one must end. It is restarted with a version.
func (u *rollout) overtake(leader, next *scenario.Replica, version build.Version) {
	u.Helper()
	underWay := leader.Proxy.Arm(proxy.Fault{Match: proxy.Requests("delete", "configmaps"), Times: 1, Hold: true, Late: true})
	u.Expect(underWay)
	arrives(u.Scenario, underWay, http.StatusNotFound)
	u.comes()
	fired(u.Scenario, underWay)
	leader.Stop()
	u.leads(next)
	u.isGone(underWay.Matched()[0])
	leader.Cont()
	underWay.Release()
	select {
	case <-leader.Ended():
	case <-time.After(scenario.Patience()):
		u.Fatalf("%s did not end", leader.User)
	}
	u.late = !u.runs[leader].IsToday()
	u.start(leader, version)
}

// isGone waits until the new leader has deleted the object of a held request. Only then does the request arrive too late,
// regardless of the speed of the machine.
func (u *rollout) isGone(held proxy.Entry) {
	u.Helper()
	u.Eventually(func() error {
		err := u.Get(u.Context(), client.ObjectKey{Namespace: held.Namespace, Name: held.Name}, &corev1.ConfigMap{})
		if err == nil {
			return fmt.Errorf("ConfigMap %s still exists", held.Name)
		}
		return client.IgnoreNotFound(err)
	})
}

// settles waits until the final state is reached and counted.
func (u *rollout) settles() {
	u.Helper()
	u.counts(u.previews, int64(u.made))
	u.counts(u.bounded, bound)
	tells(u.Scenario, u.bounded, v1alpha1.ConditionEnforcing, "LimitReached")
	u.Eventually(func() error {
		l, gone := u.Ledger(u.steady), int64(stock-u.Left(&corev1.ConfigMapList{}, env("steady")))
		counted := l.Total.Deleted + l.Total.Gone
		return cluster.Want(counted == gone && len(l.Open) == 0, "%d of %d deleted objects are counted; open: %v", counted, gone, l.Open)
	})
	for _, cm := range u.marked {
		u.Gone(cm)
	}
	u.Stays(time.Second, append(u.kept, u.paused...)...)
	u.Remove(u.pause)
	u.Gone(u.paused...)
	for name, want := range map[string]int{"preview": 1, "bounded": stock - bound} {
		if err := left(u.Scenario, env(name), want); err != nil {
			u.Error(err)
		}
	}
	u.Logf("%d terms; %d previews, %d of %d within an hour, %d of %d by 6 in 20 s", u.terms, u.made, bound, stock,
		stock-u.Left(&corev1.ConfigMapList{}, env("steady")), stock)
	u.Calm()
}

// counts waits until ledger and status of a policy have counted n deletions.
func (u *rollout) counts(p *v1alpha1.ClusterRetentionPolicy, n int64) {
	u.Helper()
	l := byLedger(u.Scenario, p, n)
	u.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		return cluster.Want(status.Deleted == l.Total.Deleted, "status and ledger differ")
	})
}
