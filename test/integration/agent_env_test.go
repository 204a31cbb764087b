// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
)

// hasty is a clock that shortens waits to a second: agents count their images and report that often.
type hasty struct{ clock.RealClock }

// After implements clock.Clock.
func (h hasty) After(d time.Duration) <-chan time.Time { return h.RealClock.After(min(d, time.Second)) }

// agentOn runs an agent on a node until the test ends or stop is called; stop waits until it has ended.
func (w *env) agentOn(n *corev1.Node, d *containerd.Daemon, state string) (stop func()) {
	w.Helper()
	return w.startAgent(agent.Config{Clock: hasty{}, Node: n.Name, Endpoint: d.Endpoint, StateDir: state})
}

// startAgent is agentOn for any runtime, clock and API server.
func (w *env) startAgent(c agent.Config) (stop func()) {
	w.Helper()
	if c.Interval, c.ReportEvery = 500*time.Millisecond, 500*time.Millisecond; c.Rest == nil {
		c.Rest = w.plane.Config()
	}
	c.Metrics, c.MetricsAddress, c.ProbeAddress = w.metrics, "0", "0"
	return w.background("agent", func(ctx context.Context) error { return agent.Run(ctx, c) })
}

// approved creates an approved policy, so that it does not wait until all nodes have counted.
func (w *env) approved(name, spec string) *v1alpha1.ClusterRetentionPolicy {
	w.Helper()
	p := w.policy(name, spec)
	w.approve(p, formOf(w.rulesOnNodes(p, func(v1alpha1.NodeImagePolicy) error { return nil })))
	w.rulesOnNodes(p, waits(0))
	return p
}

// enforced enforces a new dry run about images, and waits until agents receive it with its approval.
func (w *env) enforced(p *v1alpha1.ClusterRetentionPolicy) {
	w.Helper()
	w.edit(p, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	hash := formOf(w.rulesOnNodes(p, generation(2)))
	w.approve(p, hash)
	w.rulesOnNodes(p, func(told v1alpha1.NodeImagePolicy) error {
		return cluster.Want(slices.Equal(told.Approvals, []string{hash}), "approvals are %v, want %s", told.Approvals, hash)
	})
}

// formOf returns the hash that approves the form of a policy that agents receive.
func formOf(told v1alpha1.NodeImagePolicy) string {
	return (&policy.Policy{UID: told.UID, Hash: told.Hash}).ApprovalHash()
}

// naming creates a Pod that is bound to the node, names images and never starts.
func (w *env) naming(n *corev1.Node, images ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "waits-"}, Spec: corev1.PodSpec{NodeName: n.Name},
	}
	for i, image := range images {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", i), Image: image})
	}
	return pod
}

// running creates running containers in one sandbox, each with the name of its image. It returns the IDs of the sandbox and
// of the containers.
func (w *env) running(d *containerd.Daemon, images ...containerd.Image) (pod string, containers []string) {
	w.Helper()
	pod, err := d.RunPod(w.Context(), "test")
	expect.NoError(w, err)
	for i, image := range images {
		id, err := d.RunContainer(w.Context(), containerd.Container{Pod: pod, Name: fmt.Sprint("c", i), Image: image.ID()})
		expect.NoError(w, err)
		containers = append(containers, id)
	}
	return pod, containers
}

// images returns the IDs of all images.
func (w *env) images(d *containerd.Daemon) map[string]bool {
	w.Helper()
	there, err := w.listed(d)
	expect.NoError(w, err)
	return there
}

func (w *env) listed(d *containerd.Daemon) (map[string]bool, error) {
	listed, err := d.Runtime().Images(w.Context())
	there := map[string]bool{}
	for _, i := range listed {
		there[i.ID] = true
	}
	return there, err
}

// goes waits until images are removed.
func (w *env) goes(d *containerd.Daemon, images ...containerd.Image) {
	w.Helper()
	for _, i := range images {
		id := i.ID()
		cluster.Eventually(w, patience, func() error {
			there, err := w.listed(d)
			if err == nil && there[id] {
				err = fmt.Errorf("image %s still exists", i.Tags[0])
			}
			return err
		})
	}
}

// keeps reports an error for each image that is missing.
func (w *env) keeps(d *containerd.Daemon, images ...containerd.Image) {
	w.Helper()
	there := w.images(d)
	for _, i := range images {
		if !there[i.ID()] {
			w.Errorf("image %s was removed", i.Tags[0])
		}
	}
}

// tells waits until the report of a node's agent satisfies want.
func (w *env) tells(n *corev1.Node, want func(*v1alpha1.NodeImageReport) error) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		report := &v1alpha1.NodeImageReport{}
		if err := w.Get(w.Context(), client.ObjectKey{Name: n.Name}, report); err != nil {
			return err
		}
		return want(report)
	})
}

// withCondition requires that a report has a condition with this status, and this text in its message.
func withCondition(kind string, status metav1.ConditionStatus, text string) func(*v1alpha1.NodeImageReport) error {
	return func(r *v1alpha1.NodeImageReport) error {
		c := meta.FindStatusCondition(r.Conditions, kind)
		if c == nil || c.Status != status || !strings.Contains(c.Message, text) {
			return fmt.Errorf("condition %s is not %s with %q: %+v", kind, status, text, c)
		}
		return nil
	}
}
