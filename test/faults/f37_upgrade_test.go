package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/build"
	"github.com/sunset-k8s/sunset/test/faults/scene"
	"github.com/sunset-k8s/sunset/test/gate"
)

// Sunset is brought up to date, back, and up to date again: each time the definitions first and then one replica after the other,
// while deletions go on. Both versions lead while the other stands by, and twice one takes over from the other with a DELETE
// still on its way.
func TestF37UpgradedDowngradedAndUpgradedAgain(t *testing.T) {
	scene.Long(t)
	earlier, today := build.Earlier(t, build.BeforeReferences), build.Today(t)
	u := newRollout(scene.New(t, scene.Options{Own: true}), earlier)
	one, other := pair(u.Scene, scene.Start{Failover: true, Binary: earlier.Controller, Flags: []string{"--max-deletions-per-second=8"}})
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
	batch = 16  // previews that come each time somebody leads
	stock = 200 // what the policies with limits have from the beginning
	bound = 30  // how many of them go within the hour
)

// rollout is a cluster in which versions of Sunset change.
type rollout struct {
	*scene.Scene
	runs  map[*scene.Replica]build.Version
	terms int // how often somebody has led

	previews *v1alpha1.ClusterRetentionPolicy // goes on all the time
	bounded  *v1alpha1.ClusterRetentionPolicy // has used up its limit early
	steady   *v1alpha1.ClusterRetentionPolicy // may go on every few seconds
	declares *v1alpha1.ClusterRetentionPolicy // has a field that only today's version knows
	pause    *v1alpha1.RetentionPolicy

	made   int                 // previews so far
	marked []*corev1.ConfigMap // as they were with their marks
	spare  []client.Object     // of the policy that only today's version understands
	paused []client.Object
	kept   []client.Object // whatever happens
}

// newRollout has policies of all sorts, and objects for them.
func newRollout(s *scene.Scene, version build.Version) *rollout {
	s.Helper()
	u := &rollout{Scene: s, runs: map[*scene.Replica]build.Version{}}
	u.defines(version)
	u.previews = s.Policy("previews", previews("Enforce", "0s")+limited(1000))
	u.bounded = s.Policy("bounded", labelled("bounded", "Enforce", "0s")+limited(bound)+byDefault)
	u.steady = s.Policy("steady", labelled("steady", "Enforce", "0s")+"limits: {maxDeletions: 6, window: 20s}\n")
	u.declares = s.Policy("declares", labelled("spare", "Enforce", "0s")+`
references:
- from: {apiVersion: v1, kind: Pod}
  to: ConfigMap
  names: "[object.metadata.name]"
`)
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

// defines replaces Sunset's CustomResourceDefinitions by those of a version.
func (u *rollout) defines(version build.Version) {
	u.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{version.CRDs}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(u.Cluster.Config(), options); err != nil {
		u.Fatal(err)
	}
}

// approved lets the backlog go that needs it.
func (u *rollout) approved() {
	u.Helper()
	tells(u.Scene, u.bounded, v1alpha1.ConditionEnforcing, "ApprovalRequired")
	approve(u.Scene, u.bounded)
}

// leads waits until a replica leads, and until it has shown that it does everything as its version should.
func (u *rollout) leads(r *scene.Replica) {
	u.Helper()
	if u.Leader() != r {
		u.Fatalf("%s does not lead", r.User)
	}
	u.terms++
	began, before := time.Now(), len(r.Deletes())
	u.comes()
	u.Eventually(func() error {
		if n := len(r.Deletes()) - before; n < batch/2 {
			return fmt.Errorf("%s, which leads, has sent %d DELETEs", r.User, n)
		}
		return nil
	})
	u.marks()
	u.reads(u.runs[r])
	u.Stays(0, append(u.kept, u.paused...)...)
	u.Logf("term %d, of %s: %d DELETEs in %s", u.terms, u.runs[r], len(r.Deletes())-before, time.Since(began).Round(time.Second))
}

// comes makes more for the policy that goes on all the time.
func (u *rollout) comes() {
	u.Helper()
	u.made += batch
	configMaps(u.Scene, fmt.Sprintf("preview-%d", u.made), batch, preview)
}

// marks: whoever leads marks what is new, and leaves the marks of all others before it as they are.
func (u *rollout) marks() {
	u.Helper()
	cm := u.ConfigMap(fmt.Sprintf("retired-%d", u.terms), env("retired"))
	u.Eventually(func() error { return hasMark(u.Scene, cm) })
	for _, before := range u.marked {
		now := before.DeepCopy()
		err := u.Get(u.Context(), client.ObjectKeyFromObject(before), now)
		if client.IgnoreNotFound(err) != nil {
			u.Fatal(err)
		}
		if was, is := before.Annotations[v1alpha1.EligibleSinceAnnotation], now.Annotations[v1alpha1.EligibleSinceAnnotation]; err == nil && was != is {
			u.Errorf("%s was marked %s, and is marked %s", before.Name, was, is)
		}
	}
	u.marked = append(u.marked, cm)
}

// reads: what only today's version understands goes under that one, and stays under the earlier one, which says why.
func (u *rollout) reads(version build.Version) {
	u.Helper()
	u.spare = append(u.spare, u.ConfigMap(fmt.Sprintf("spare-%d", u.terms), env("spare")))
	if version.IsToday() {
		u.Gone(u.spare...)
		u.spare = nil
		return
	}
	tells(u.Scene, u.declares, v1alpha1.ConditionValid, "RuleInvalid", "references")
	u.Stays(time.Second, u.spare...)
}

// replace ends a replica in order, and starts it as a version once there is a leader besides it.
func (u *rollout) replace(r *scene.Replica, version build.Version) {
	u.Helper()
	r.Interrupt()
	u.Leader()
	u.start(r, version)
}

func (u *rollout) start(r *scene.Replica, version build.Version) {
	u.Helper()
	u.runs[r] = version
	r.Restart(func(start *scene.Start) { start.Binary = version.Controller })
}

// overtake stops the leader with one of its DELETEs on the way, and lets the next one lead. Then it goes on, the DELETE
// arrives, and the one that was stopped ends by itself. It is started again as a version.
func (u *rollout) overtake(leader, next *scene.Replica, version build.Version) {
	u.Helper()
	underWay := leader.Gate.Arm(gate.Fault{Match: gate.Requests("delete", "configmaps"), Times: 1, Hold: true, Late: true})
	u.Expect(underWay)
	arrives(u.Scene, underWay, http.StatusNotFound)
	u.comes()
	fired(u.Scene, underWay)
	leader.Stop()
	u.leads(next)
	u.isGone(underWay.Struck()[0])
	leader.Cont()
	underWay.Release()
	select {
	case <-leader.Ended():
	case <-time.After(scene.Patience()):
		u.Fatalf("%s does not end by itself", leader.User)
	}
	u.start(leader, version)
}

// isGone waits until the replica that leads has deleted the object of a request that is held: only then does the request come too
// late, however fast the machine is.
func (u *rollout) isGone(held gate.Entry) {
	u.Helper()
	u.Eventually(func() error {
		err := u.Get(u.Context(), client.ObjectKey{Namespace: held.Namespace, Name: held.Name}, &corev1.ConfigMap{})
		if err == nil {
			return fmt.Errorf("ConfigMap %s is still there", held.Name)
		}
		return client.IgnoreNotFound(err)
	})
}

// settles waits until everything is as it has to be in the end, and counted.
func (u *rollout) settles() {
	u.Helper()
	u.Quiet()
	u.counts(u.previews, int64(u.made))
	u.counts(u.bounded, bound)
	u.approved() // the earlier version does not write into the status how many objects it counted
	tells(u.Scene, u.bounded, v1alpha1.ConditionEnforcing, "LimitReached")
	u.Eventually(func() error {
		l, gone := u.Ledger(u.steady), int64(stock-u.Left(&corev1.ConfigMapList{}, env("steady")))
		if counted := l.Total.Deleted + l.Total.Gone; counted != gone || len(l.Open) > 0 {
			return fmt.Errorf("%d are counted of %d that are gone; open: %v", counted, gone, l.Open)
		}
		return nil
	})
	for _, cm := range u.marked {
		u.Gone(cm)
	}
	u.Stays(time.Second, append(u.kept, u.paused...)...)
	u.Remove(u.pause)
	u.Gone(u.paused...)
	for name, want := range map[string]int{"preview": 1, "bounded": stock - bound} {
		if err := left(u.Scene, env(name), want); err != nil {
			u.Error(err)
		}
	}
	u.Logf("%d terms; %d previews, %d of %d within an hour, %d of %d by 6 in 20 s", u.terms, u.made, bound, stock,
		stock-u.Left(&corev1.ConfigMapList{}, env("steady")), stock)
}

// counts waits until ledger and status of a policy say that so many went.
func (u *rollout) counts(p *v1alpha1.ClusterRetentionPolicy, n int64) {
	u.Helper()
	l := byLedger(u.Scene, p, n)
	u.Status(p, func(status v1alpha1.RetentionPolicyStatus) error {
		if status.Deleted != l.Total.Deleted {
			return errors.New("status and ledger differ")
		}
		return nil
	})
}
