// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/scenario"
	"github.com/sunset-k8s/sunset/test/proxy"
)

const (
	replicas = 2
	// calm is how long objects must not have changed before a schedule ends: longer than a due object may exist.
	calm = 15 * time.Second
	// unrest is how long objects may continue to change: some policies allow three deletions every six seconds.
	unrest = 3 * time.Minute
)

// stage is a scenario that runs a schedule.
type stage struct {
	*scenario.Scenario
	client.Client        // at an API server that answers
	alone         bool   // exclusive use of the control plane: whole servers may fail
	outage        bool   // a server is failing now
	beside        string // the second namespace
	began         time.Time
	replicas      [replicas]*scenario.Replica
	stopped       [replicas]bool
	hit           int // number of ended or suspended replicas and of server faults
	armed         []*proxy.Armed
	ends          map[action]func() // functions that end running actions
}

// Run runs a schedule in its own scenario, which checks it when the test ends. The run is void if no fault fired. Run returns
// when objects do not change any more, with the number of faults that fired.
func (s Schedule) Run(in *scenario.Scenario) (struck int) {
	in.Helper()
	t := &stage{Scenario: in, Client: in.Client, alone: s.alone, beside: in.More("beside"), ends: map[action]func(){}, began: time.Now()}
	for i := range t.replicas {
		t.replicas[i] = in.Sunset(scenario.Start{Server: scenario.Server(i), Failover: true})
	}
	for _, p := range s.policies {
		t.writePolicy(p)
	}
	in.Cleanup(t.endAll)
	in.ExpectThat("a fault that fired", func() bool { return t.hitByFault() > 0 })
	in.Leader()
	began := time.Now()
	for _, step := range s.steps {
		time.Sleep(time.Until(began.Add(step.at)))
		step.do.on(t)
	}
	t.repair(s.blind)
	t.settle()
	return t.hitByFault()
}

// hitByFault returns how many faults are known to have fired: faults of requests, counted for each replica; replicas that were
// ended or suspended while running; and faults of servers.
func (t *stage) hitByFault() int {
	n := t.hit
	for _, a := range t.armed {
		if a.Fired() > 0 {
			n++
		}
	}
	return n
}

func (t *stage) namespace(beside bool) string {
	if beside {
		return t.beside
	}
	return t.Namespace
}

// tolerate ends the test on an error. It ignores errors that mean that the object does not exist, already exists or has
// changed, and errors of servers that are failing or have failed.
func (t *stage) tolerate(err error) {
	t.Helper()
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
	case t.alone && unanswered(err):
	default:
		t.Fatal(err)
	}
}

// write creates an object from text, or replaces its spec.
func (t *stage) write(kind schema.GroupVersionKind, of client.Object, spec string) {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := t.Get(t.Context(), client.ObjectKeyFromObject(of), o)
	o.SetNamespace(of.GetNamespace())
	o.SetName(of.GetName())
	o.Object["spec"] = fields
	if apierrors.IsNotFound(err) {
		err = t.Create(t.Context(), o)
	} else if err == nil {
		err = t.Update(t.Context(), o)
	}
	t.tolerate(err)
}

func (t *stage) writePolicy(p policy) {
	t.Helper()
	of := &v1alpha1.ClusterRetentionPolicy{}
	of.Name = t.Namespace + "-" + p.name
	text := p.spec(t.began, t.Namespace, t.beside) + "approval: {maxObjects: 1000000, maxPercent: 100}\n"
	t.write(v1alpha1.ClusterRetentionPolicyKind, of, text)
}

func (t *stage) begin(u undone) {
	if t.ends[u] == nil {
		t.ends[u] = sync.OnceFunc(u.begin(t))
	}
}

func (t *stage) undo(u undone) {
	if end := t.ends[u]; end != nil {
		end()
		delete(t.ends, u)
		t.awaitServers()
	}
}

func (t *stage) endAll() {
	for _, end := range t.ends {
		end()
	}
}

// repair ends all faults, and restarts blind replicas.
func (t *stage) repair(blind bool) {
	t.endAll()
	t.awaitServers()
	for _, a := range t.armed {
		a.Lift()
	}
	for i, r := range t.replicas {
		resume{i}.on(t)
		if blind {
			r.Restart()
		}
	}
}

// settle waits until no object has changed for a while, under the same leader. A busy machine may prevent a replica from
// renewing its lease. settle then restarts the ended replica, as a cluster would, and waits again.
func (t *stage) settle() {
	t.Helper()
	var leads *scenario.Replica
	last, since := "", time.Now()
	for deadline := since.Add(unrest); time.Now().Before(deadline) && time.Since(since) < calm; time.Sleep(calm / 40) {
		for _, r := range t.replicas {
			if !r.Running() {
				r.Restart()
			}
		}
		if now := t.Leader(); now != leads {
			leads, since, deadline = now, time.Now(), time.Now().Add(unrest)
			t.Quiet()
		}
		if now := t.state(); now != last {
			last, since = now, time.Now()
		}
	}
	if time.Since(since) < calm {
		t.Errorf("objects still change %s after the last fault", unrest)
	}
}

// state returns the names and versions of all objects.
func (t *stage) state() string {
	t.Helper()
	text := ""
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &batchv1.JobList{}, &corev1.PodList{}} {
		for _, beside := range []bool{false, true} {
			t.Eventually(func() error { return t.List(t.Context(), list, client.InNamespace(t.namespace(beside))) })
			_ = meta.EachListItem(list, func(o runtime.Object) error {
				text += fmt.Sprintf("%T %s\n", o, versionOf(o.(client.Object)))
				return nil
			})
		}
	}
	return text
}

func versionOf(o client.Object) string {
	return strings.Join([]string{o.GetNamespace(), o.GetName(), o.GetResourceVersion()}, " ")
}
