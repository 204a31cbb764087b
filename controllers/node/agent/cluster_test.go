// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/fixture"
)

func TestPodsAreListedOnceASecond(t *testing.T) {
	at := clocktesting.NewFakeClock(fixture.Now)
	h := newHost(t, at)
	for name, node := range map[string]string{"here": hostName, "there": "node-2"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		expect.NoError(t, h.server.Create(t.Context(), pod))
	}
	want := func(lists int) {
		t.Helper()
		pods, since, err := h.cluster.Pods(t.Context())
		if age := at.Now().Sub(since); age < 0 || age >= podsAge {
			t.Fatalf("the list has age %s", age)
		}
		if err != nil || len(pods) != 1 || pods[0].Name != "here" || h.lists != lists {
			t.Fatalf("%d pods, %v, after %d lists, want %d", len(pods), err, h.lists, lists)
		}
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { _, _, _ = h.cluster.Pods(t.Context()) })
	}
	group.Wait()
	want(1)
	at.Step(podsAge - 1)
	want(1)
	at.Step(1)
	want(2)
	at.Step(-time.Hour) // a list with a time in the future is not used
	want(3)
}

func TestPodsThatWereNotListedAreListedAgain(t *testing.T) {
	at := clocktesting.NewFakeClock(fixture.Now)
	h := newHost(t, at)
	if _, _, err := h.cluster.Pods(t.Context()); err != nil {
		t.Fatal(err)
	}
	at.Step(podsAge)
	h.fails = forPods(errors.New("busy"))
	for range 2 {
		if pods, _, err := h.cluster.Pods(t.Context()); err == nil || pods != nil {
			t.Errorf("%v: the previous list was returned", err)
		}
	}
	h.fails = nil
	if _, _, err := h.cluster.Pods(t.Context()); err != nil || h.lists != 4 {
		t.Errorf("%v, after %d lists", err, h.lists)
	}
}

func TestNodeAsRulesSeeIt(t *testing.T) {
	h := newHost(t, clocktesting.NewFakeClock(fixture.Now))
	h.disk.locate(t.Context())
	of := func(labels map[string]string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hostName, Labels: labels}}
	}
	for i, step := range []struct {
		node       *corev1.Node
		relabelled bool
	}{
		{of(map[string]string{"pool": "build"}), true},
		{of(map[string]string{"pool": "build"}), false},
		{of(map[string]string{"pool": "serve"}), true},
		{nil, true},
		{of(nil), true},
		{of(nil), false},
	} {
		expect.Equal(t, fmt.Sprintf("step %d: relabelled", i+1), step.relabelled, h.cluster.set(step.node))
		node, err := h.cluster.Node()
		if (err == nil) != (step.node != nil) {
			t.Fatalf("step %d: %v", i+1, err)
		}
		if err == nil && (node.Labels["pool"] != step.node.Labels["pool"] || node.Filesystem.UsedPercent != 50) {
			t.Errorf("step %d: %+v", i+1, node)
		}
	}
	h.blind = errors.New("not mounted")
	if node, err := h.cluster.Node(); err != nil || node.Filesystem != nil {
		t.Errorf("%v, with %+v", err, node)
	}
}

// TestNodeAfterARestoreOfEtcd: what the agent knew of its node is newer than what exists.
func TestNodeAfterARestoreOfEtcd(t *testing.T) {
	h := newHost(t, clocktesting.NewFakeClock(fixture.Now))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hostName, Labels: map[string]string{"pool": "serve"}}}
	h.forget(node.DeepCopy())
	expect.NoError(t, h.server.Create(t.Context(), node))
	later := node.DeepCopy()
	later.ResourceVersion, later.Labels = "99", map[string]string{"pool": "build"}
	h.cluster.set(later)
	relabelled, err := h.cluster.confirm(t.Context())
	labels, _ := h.cluster.labels()
	if err != nil || !relabelled || labels["pool"] != "serve" {
		t.Errorf("labels %v, changed %v, %v", labels, relabelled, err)
	}
}

// TestLabelsOfTheNodeAreConfirmed: the labels of the node decide which policies apply to it, and a watch may lag behind.
// Before the agent removes an image it reads them again, like the rules and the policies.
func TestLabelsOfTheNodeAreConfirmed(t *testing.T) {
	at := clocktesting.NewFakeClock(fixture.Now)
	h := newHost(t, at)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hostName, Labels: map[string]string{"pool": "build"}}}
	h.forget(node.DeepCopy())
	expect.NoError(t, h.server.Create(t.Context(), node))
	h.cluster.set(node.DeepCopy()) // the watch delivers this version and no later one
	rule := aboutImages("r", "1m", nil)
	rule.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "build"}}
	h.sendRules(v1alpha1.Enforce, rule)
	node.Labels = map[string]string{"pool": "serve"}
	expect.NoError(t, h.server.Update(t.Context(), node))
	at.Step(time.Hour)
	_, err := h.rules.Check(t.Context(), "")
	if n := len(h.rules.Snapshot().Rules(v1alpha1.ImageKind.GroupKind())); err == nil && n > 0 {
		t.Errorf("an hour after the label of the node changed, %d rules that no longer apply to it may remove images", n)
	}
}
