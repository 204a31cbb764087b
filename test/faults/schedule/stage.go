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
	"github.com/sunset-k8s/sunset/test/faults/scene"
	"github.com/sunset-k8s/sunset/test/gate"
)

const (
	replicas = 2
	// calm is for how long nothing must have changed before a schedule ends: longer than what is due may stay.
	calm = 15 * time.Second
	// unrest is for how long objects may go on changing: some policies let three go every six seconds.
	unrest = 3 * time.Minute
)

// stage is a scene in which a schedule is carried out.
type stage struct {
	*scene.Scene
	client.Client        // at an API server that can be asked
	alone         bool   // on its control plane: whole servers have trouble
	outage        bool   // one of them has it now
	beside        string // the second namespace
	replicas      [replicas]*scene.Replica
	stopped       [replicas]bool
	hit           int // how often a replica that ran, or a server, was ended or stopped
	armed         []*gate.Armed
	ends          map[action]func() // of what has begun
}

// Run carries a schedule out in a scene of its own, which judges it when the test ends: it is void if no fault has struck. It is
// done when all is quiet, and says how many faults struck.
func (s Schedule) Run(in *scene.Scene) (struck int) {
	in.Helper()
	t := &stage{Scene: in, Client: in.Client, alone: s.alone, beside: in.More("beside"), ends: map[action]func(){}}
	for i := range t.replicas {
		t.replicas[i] = in.Sunset(scene.Start{Server: scene.Server(i), Failover: true})
	}
	for _, p := range s.policies {
		t.writePolicy(p)
	}
	in.Cleanup(t.endAll)
	in.ExpectThat("a fault that strikes", func() bool { return t.struck() > 0 })
	in.Leader()
	began := time.Now()
	for _, step := range s.steps {
		time.Sleep(time.Until(began.Add(step.at)))
		step.do.on(t)
	}
	t.mend(s.blind)
	t.settle()
	return t.struck()
}

// struck is how many faults have struck, as far as that can be told: those of requests, each at each replica, replicas that
// ran and were ended or made to stand still, and troubles of servers.
func (t *stage) struck() int {
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

// tolerate ends the test on an error, unless it says that what should be changed is not there, or is already, or that a server
// does not answer which has trouble, or had.
func (t *stage) tolerate(err error) {
	t.Helper()
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
	case t.alone && unanswered(err):
	default:
		t.Fatal(err)
	}
}

// write makes an object that somebody writes as text, or gives it another spec.
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
	text := p.spec(t.Namespace, t.beside) + "approval: {backlogCount: 1000000, backlogPercent: 100}\n"
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

// mend ends all trouble.
func (t *stage) mend(blind bool) {
	t.endAll()
	t.awaitServers()
	for _, a := range t.armed {
		a.Lift()
	}
	for i, r := range t.replicas {
		goOn{i}.on(t)
		if blind {
			r.Restart()
		}
	}
}

// settle waits until no object has changed for a while, with the same replica leading all the time. One that ended because it
// could not renew its lease, as happens on a busy machine, is started again as a cluster would, and then all begins again.
func (t *stage) settle() {
	t.Helper()
	var leads *scene.Replica
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
		t.Errorf("objects go on changing for %s after all trouble", unrest)
	}
}

// state is what objects there are, in which versions.
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
