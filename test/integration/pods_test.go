// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// podsOfJobs deletes Pods as soon as their Jobs have counted them. It keeps Pods without a Job, which a Job may still
// adopt.
const podsOfJobs = `
mode: Enforce
variables:
- name: ofJob
  expression: controllerOf(object).?kind.orValue('') == 'Job'
rules:
- name: succeeded
  target: {apiVersion: v1, kind: Pod}
  eligible: succeeded(object) && variables.ofJob
  startTime: finishedAt(object)
  ttl: 0s
- name: failed
  target: {apiVersion: v1, kind: Pod}
  eligible: failed(object) && variables.ofJob
  startTime: finishedAt(object)
  ttl: 0s
`

// director sets the outcome of Pods according to the shapes of their Jobs.
type director struct {
	*env
	mu     sync.Mutex
	shapes map[string]shape // by name of the Job
	nth    map[string]int
}

// came handles each new Pod, in order.
func (d *director) came(pod *corev1.Pod) {
	d.mu.Lock()
	defer d.mu.Unlock()
	job := pod.Labels[batchv1.JobNameLabel]
	if fate := d.shapes[job].fate; fate != nil {
		go d.decide(pod.Name, fate(pod, d.nth[job]))
		d.nth[job]++
	}
}

// direct watches the Pods of the namespace and sets their outcomes according to the shapes of their Jobs.
func (w *env) direct(shapes map[string]shape) *podWatcher {
	w.Helper()
	d := &director{env: w, shapes: map[string]shape{}, nth: map[string]int{}}
	for name, s := range shapes {
		d.shapes[jobName(name)] = s
	}
	return w.watchPods(d.came)
}

func jobName(shape string) string {
	return strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(shape))
}

// TestPodsGoWhenTheirJobsHaveCountedThem: Jobs of every shape end as they do without Sunset, and no Pod is deleted before
// its Job has counted it.
func TestPodsGoWhenTheirJobsHaveCountedThem(t *testing.T) {
	without, with := newEnv(t), newEnv(t)
	without.direct(shapes)
	witness := with.direct(shapes)
	g := proxy.New(t, with.plane.Config())
	deletes := recorded(g, with.deletesPods)
	c := with.measured(g)
	with.policy("pods", podsOfJobs)
	t.Run("shapes", func(t *testing.T) {
		for name, shape := range shapes {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a, b := &run{env: without.in(t), shape: shape}, &run{env: with.in(t), shape: shape}
				a.start(jobName(name))
				b.start(jobName(name))
				var bare ending
				var other sync.WaitGroup
				defer other.Wait() // also if b does not end
				other.Go(func() { bare = a.end() })
				swept := b.end()
				other.Wait()
				expect.Equal(t, "with Sunset, compared to without", bare, swept)
				expect.Equal(t, "without Sunset", shape.ends, bare)
			})
		}
	})
	with.nothingLeaks(c)
	with.nothingFinishedStays()
	cluster.Eventually(t, patience, func() error { return witness.check(deletes()) })
	with.tell(witness, len(deletes()))
}

// nothingFinishedStays waits until no finished Pod of a Job exists.
func (w *env) nothingFinishedStays() {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		pods, err := w.pods("")
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if isFinished(&pod) && len(pod.OwnerReferences) > 0 {
				return fmt.Errorf("Pod %s still exists", pod.Name)
			}
		}
		return nil
	})
}

func (w *env) tell(s *podWatcher, deletes int) {
	lags := s.lags()
	if len(lags) == 0 {
		w.Fatal("no counted Pod was deleted")
	}
	w.Logf("%d DELETEs; from count to deletion: median %s, worst %s of %d", deletes, lags[len(lags)/2], lags[len(lags)-1], len(lags))
}

// TestPodsOfABigJob: finished Pods are deleted while the Job runs, even if Sunset stops and starts in that time.
func TestPodsOfABigJob(t *testing.T) {
	const completions, parallelism = 60, 20
	w := newEnv(t)
	witness := w.watchPods(nil)
	g := proxy.New(t, w.plane.Config())
	deletes := recorded(g, w.deletesPods)
	first := w.measured(g)
	w.policy("pods", podsOfJobs)
	big := &run{env: w, shape: shape{spec: indexed(completions, parallelism)}}
	big.start("big")
	big.until("a fifth has succeeded", func(s *batchv1.JobStatus) bool { return s.Succeeded >= completions/5 })
	cluster.Eventually(t, patience, func() error {
		return cluster.Want(len(deletes()) > 0, "nothing is deleted while the Job runs")
	})
	first.stop(t)
	early := len(deletes())
	big.until("half of the Pods have succeeded", func(s *batchv1.JobStatus) bool { return s.Succeeded >= completions/2 })
	if n := len(deletes()); n != early {
		t.Errorf("%d DELETEs without Sunset", n-early)
	}
	second := w.measured(g)
	want := ending{Succeeded: completions, CompletedIndexes: "0-59", Conditions: complete}
	expect.Equal(t, "end", want, big.end())
	w.nothingLeaks(second)
	w.nothingFinishedStays()
	cluster.Eventually(t, patience, func() error { return witness.check(deletes()) })
}

// TestPodsStayWhileNobodyCounts: while the Job controller is down, finished Pods stay, the metrics show them, and no count
// is lost.
func TestPodsStayWhileNobodyCounts(t *testing.T) {
	w := newEnv(t)
	g := proxy.New(t, w.plane.Config())
	c := w.measured(g)
	paused := &run{env: w, shape: shape{spec: sized(30, 6), fate: endlessFrom(6, 12)}}
	witness := w.direct(map[string]shape{"paused": paused.shape})
	deletes := recorded(g, w.deletesPods)
	w.policy("pods", podsOfJobs)
	paused.start("paused")
	paused.until("six have succeeded, six run", func(s *batchv1.JobStatus) bool { return s.Succeeded == 6 && s.Active == 6 })
	w.nothingFinishedStays()
	expect.NoError(t, w.plane.Kill(cluster.ControllerManager))
	back := sync.OnceFunc(func() {
		if err := w.plane.Restart(t.Context(), cluster.ControllerManager); err != nil {
			t.Error(err)
		}
	})
	defer back()
	pods, err := w.pods("paused")
	expect.NoError(t, err)
	var uncounted []client.Object
	for i := range pods {
		w.decide(pods[i].Name, cluster.Succeeded)
		uncounted = append(uncounted, &pods[i])
	}
	cluster.Eventually(t, patience, func() error {
		states, err := c.uncountedPods()
		if err == nil && (states["due"]+states["overdue"] != len(uncounted) || states["terminating"] != 0) {
			err = fmt.Errorf("%d Pods are uncounted, the gauges have %v", len(uncounted), states)
		}
		return err
	})
	w.stays(time.Second, uncounted...)
	back()
	expect.Equal(t, "end", ending{Succeeded: 30, Conditions: complete}, paused.end())
	w.nothingLeaks(c)
	w.nothingFinishedStays()
	cluster.Eventually(t, patience, func() error { return witness.check(deletes()) })
	w.tell(witness, len(deletes()))
}
