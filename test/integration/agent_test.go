package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/agent"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
)

// unusedImages lets images of the test go that nothing has used for a moment.
const unusedImages = `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: node.sunset.x-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('go.test/'))
  ttl: 3s
  images: {minAge: 1s}
`

// agentOn runs an agent on a node until the test ends or stop is called; stop waits for it.
func (w *world) agentOn(n *corev1.Node, d *containerd.Daemon, state string) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- agent.Run(ctx, agent.Config{
			Rest: w.plane.Config(), Clock: clock.RealClock{}, Node: n.Name, Endpoint: d.Endpoint, StateDir: state,
			Interval: 300 * time.Millisecond, ReportEvery: time.Second, MetricsAddress: "0", ProbeAddress: "0",
		})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("agent: %v", err)
		}
	}
	w.Cleanup(stop)
	return stop
}

// images are the IDs of the images there are.
func (w *world) images(d *containerd.Daemon) map[string]bool {
	w.Helper()
	listed, err := d.Runtime().Images(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	there := map[string]bool{}
	for _, i := range listed {
		there[i.ID] = true
	}
	return there
}

// TestUnusedImagesGo: of the images of a node those go that nothing uses, names or pins, and no other.
func TestUnusedImagesGo(t *testing.T) {
	for _, lane := range containerd.Lanes() {
		t.Run(string(lane), func(t *testing.T) {
			w := newWorld(t)
			d := containerd.Run(t, containerd.Options{Lane: lane})
			unused := containerd.Image{Tags: []string{"go.test/unused:v1"}, Digest: true}
			twice := containerd.Image{Tags: []string{"go.test/twice:v1", "go.test/twice:v2"}, Digest: true}
			other := containerd.Image{Tags: []string{"go.test/other:v1", "stay.test/other:v1"}, Digest: true}
			loaded := containerd.Image{Tags: []string{"go.test/loaded:v1"}}
			running := containerd.Image{Tags: []string{"go.test/running:v1"}, Digest: true, Runnable: true}
			exited := containerd.Image{Tags: []string{"go.test/exited:v1"}, Digest: true, Runnable: true}
			named := containerd.Image{Tags: []string{"go.test/named:v1"}, Digest: true}
			if err := d.Import(t.Context(), unused, twice, other, loaded, running, exited, named); err != nil {
				t.Fatal(err)
			}
			n := w.node("a")
			w.create(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "waits"},
				Spec:       corev1.PodSpec{NodeName: n.Name, Containers: []corev1.Container{{Name: "main", Image: "go.test/named:v1"}}},
			})
			w.containers(d, running, exited)
			w.sunset()
			w.agentOn(n, d, t.TempDir())
			p := w.policy("unused", unusedImages)
			for name, i := range map[string]containerd.Image{"unused": unused, "with two tags": twice} {
				cluster.Eventually(w, 2*patience, func() error {
					if w.images(d)[i.ID()] {
						return fmt.Errorf("the image %s is there", name)
					}
					return nil
				})
			}
			time.Sleep(4 * time.Second) // whatever is wrong has time to go
			there := w.images(d)
			for name, i := range map[string]containerd.Image{
				"with another tag": other, "loaded": loaded, "running": running, "exited": exited, "named by a Pod": named,
			} {
				if !there[i.ID()] {
					t.Errorf("the image %s is gone", name)
				}
			}
			w.reported(n, p)
		})
	}
}

// containers makes a container that runs and one that does not any more.
func (w *world) containers(d *containerd.Daemon, running, exited containerd.Image) {
	w.Helper()
	pod, err := d.RunPod(w.Context(), "test")
	if err != nil {
		w.Fatal(err)
	}
	for name, i := range map[string]containerd.Image{"running": running, "exited": exited} {
		c := containerd.Container{Pod: pod, Name: name, Image: i.ID()}
		if name == "exited" {
			c.Args = []string{"exit"}
		}
		id, err := d.RunContainer(w.Context(), c)
		if err == nil && name == "exited" {
			err = d.Exited(w.Context(), id)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// reported waits until two images of the node are reported to have gone on the word of a policy.
func (w *world) reported(n *corev1.Node, p *v1alpha1.ClusterRetentionPolicy) {
	w.Helper()
	cluster.Eventually(w, 2*patience, func() error {
		report := &v1alpha1.NodeImageReport{}
		if err := w.Get(w.Context(), client.ObjectKey{Name: n.Name}, report); err != nil {
			return err
		}
		if report.Removed.Images != 2 || len(report.Policies) == 0 || report.Policies[0].Removed.Images != 2 {
			return fmt.Errorf("reported: %+v", report)
		}
		return nil
	})
	w.status(p, func(s v1alpha1.RetentionPolicyStatus) error {
		if s.Deleted != 2 || s.NodeImages == nil || s.NodeImages.Removed.Images != 2 {
			return errors.New("another count")
		}
		return nil
	})
}
