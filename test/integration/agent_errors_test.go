// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// TestRuntimeIsKilledAndComesBack: while the runtime is down, the report of its node has an error. Then the agent
// continues automatically, and images in containers stay.
func TestRuntimeIsKilledAndComesBack(t *testing.T) {
	w := newEnv(t)
	d := containerd.Run(t, containerd.Options{Lane: containerd.Module})
	n := w.node("a")
	before, later, running := pulled("go.test/before:v1"), pulled("go.test/later:v1"), runnable("go.test/running:v1")
	expect.NoError(w, d.Import(t.Context(), before, running))
	_, containers := w.running(d, running)
	w.sunset()
	w.agentOn(n, d, t.TempDir())
	w.approved("unused", unusedImages)
	w.tells(n, withCondition(v1alpha1.ConditionRuntimeReachable, metav1.ConditionTrue, ""))
	for range 3 { // the agent lists images and containers as soon as the runtime answers
		d.Kill()
		expect.NoError(w, d.Restart(t.Context()))
	}
	d.Kill()
	w.tells(n, withCondition(v1alpha1.ConditionRuntimeReachable, metav1.ConditionFalse, "Unavailable"))
	expect.NoError(w, d.Restart(t.Context()))
	w.tells(n, withCondition(v1alpha1.ConditionRuntimeReachable, metav1.ConditionTrue, ""))
	expect.NoError(w, d.Import(t.Context(), later))
	w.goes(d, before, later)
	w.keeps(d, running)
	w.runOn(d, containers)
}

// scripted returns the images of a scripted runtime.
func (w *env) scripted(s *critest.Server) (ids []string) {
	s.Update(func(s *critest.State) {
		for _, i := range s.Images {
			ids = append(ids, i.Id)
		}
	})
	return ids
}

// leaves waits until a scripted runtime has exactly the images with these numbers.
func (w *env) leaves(s *critest.Server, numbers ...int) {
	w.Helper()
	want := make([]string, len(numbers))
	for i, n := range numbers {
		want[i] = critest.ID(n)
	}
	cluster.Eventually(w, patience, func() error {
		ids := w.scripted(s)
		if slices.Sort(ids); !slices.Equal(ids, want) {
			return fmt.Errorf("the runtime has images %v, want %v", ids, want)
		}
		return nil
	})
}

// gRPC codes. Only packages that talk to runtimes import the package that defines them.
const (
	unknown  = 2
	internal = 13
)

// TestAgentRemovesNothingAfterFailedLists: the agent removes nothing while a list request fails, or if the runtime lists
// no image.
func TestAgentRemovesNothingAfterFailedLists(t *testing.T) {
	w := newEnv(t)
	s := critest.Start(t)
	n := w.node("a")
	s.Update(func(s *critest.State) {
		s.Images = append(s.Images, critest.Image(1, "go.test/a:v1"), critest.Image(2, "stay.test/b:v1"))
	})
	w.sunset()
	p := w.policy("unused", strings.Replace(unusedImages, "Enforce", "DryRun", 1))
	w.startAgent(agent.Config{Clock: hasty{}, Node: n.Name, Endpoint: s.Endpoint, StateDir: t.TempDir()})
	w.tells(n, func(r *v1alpha1.NodeImageReport) error {
		return cluster.Want(r.Images == 2, "%d images", r.Images)
	})
	s.On("ListContainers", critest.Fail(internal))
	w.tells(n, withCondition(v1alpha1.ConditionRuntimeReachable, metav1.ConditionFalse, "ListContainers"))
	w.enforced(p)
	time.Sleep(3 * time.Second) // until the image is old enough according to earlier lists
	hidden := critest.State{}
	s.Update(func(s *critest.State) { hidden.Images, s.Images = s.Images, nil })
	s.On("ListContainers", nil)
	w.tells(n, withCondition(v1alpha1.ConditionRuntimeReachable, metav1.ConditionFalse, "lists no image"))
	if calls := s.Calls("RemoveImage"); calls > 0 {
		t.Errorf("%d removals", calls)
	}
	s.Update(func(s *critest.State) { s.Images = hidden.Images })
	w.leaves(s, 2)
	w.tells(n, withCondition(v1alpha1.ConditionRuntimeReachable, metav1.ConditionTrue, ""))
}

// TestHostileRuntimeStopsNothing: one removal hangs, one succeeds with an error, one is refused, one has no effect; other
// removals continue.
func TestHostileRuntimeStopsNothing(t *testing.T) {
	w := newEnv(t)
	s := critest.Start(t)
	n := w.node("a")
	s.Update(func(s *critest.State) {
		for i := range 8 {
			s.Images = append(s.Images, critest.Image(i+1, fmt.Sprintf("go.test/%d:v1", i+1)))
		}
	})
	refused, pretended := count(critest.Fail(unknown)), count(critest.RemoveNothing)
	hangs := make(chan struct{})
	release := sync.OnceFunc(func() { close(hangs) })
	s.On("RemoveImage", critest.Removals(map[string]critest.Hook{
		critest.ID(1): func(_ context.Context, _ any, handle func() (any, error)) (any, error) {
			<-hangs
			return handle()
		},
		critest.ID(2): critest.FailAfter(internal),
		critest.ID(3): refused.hook,
		critest.ID(4): pretended.hook,
	}))
	w.sunset()
	w.approved("unused", unusedImages)
	began := time.Now()
	w.startAgent(agent.Config{Clock: hasty{}, Node: n.Name, Endpoint: s.Endpoint, StateDir: t.TempDir()})
	t.Cleanup(release)
	w.leaves(s, 1, 3, 4)
	s.Update(func(s *critest.State) { s.Images = append(s.Images, critest.Image(9, "go.test/9:v1")) })
	w.leaves(s, 1, 3, 4)
	release()
	w.leaves(s, 3, 4)
	cluster.Eventually(t, patience, func() error {
		return cluster.Want(refused.calls.Load() > 1, "a refused removal was not retried")
	})
	took := time.Since(began)
	if n := refused.calls.Load(); n > 10 {
		t.Errorf("a refused removal was tried %d times in %s", n, took)
	}
	if n := pretended.calls.Load(); n < 1 || n > 2+int64(took/(3*time.Second)) {
		t.Errorf("a removal without effect was tried %d times in %s, want once each time the image is old enough", n, took)
	}
	cluster.Eventually(t, patience, func() error { // an error is counted after its answer
		n := scrape.Of(t, w.metrics)["sunset_image_errors_total code=Unknown"]
		return cluster.Want(n > 1, "%v errors Unknown, want some", n)
	})
	expect.Equal(t, "errors Internal", 1, scrape.Of(t, w.metrics)["sunset_image_errors_total code=Internal"])
	w.tells(n, func(r *v1alpha1.NodeImageReport) error {
		return cluster.Want(r.Removed.Images >= 6, "the report lacks removals")
	})
}

// counter counts the calls of a hook.
type counter struct {
	calls atomic.Int64
	hook  critest.Hook
}

func count(h critest.Hook) *counter {
	c := &counter{}
	c.hook = func(ctx context.Context, request any, handle func() (any, error)) (any, error) {
		c.calls.Add(1)
		return h(ctx, request, handle)
	}
	return c
}
