// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

// waits are durations of one kind of operation.
type waits []time.Duration

func (w waits) text() string {
	return fmt.Sprintf("p50 %s, p99 %s", milliseconds(percentile(w, .5)), milliseconds(percentile(w, .99)))
}

// beside compares these durations with others.
func (w waits) beside(other waits) string {
	times := func(share float64) float64 {
		return percentile(w, share).Seconds() / percentile(other, share).Seconds()
	}
	return fmt.Sprintf("p50 %.2f times, p99 %.2f times", times(.5), times(.99))
}

// admitted counts the Jobs that wait for Kueue and how long the admitted ones waited.
type admitted struct {
	mu    sync.Mutex
	began map[string]time.Time // creation of each waiting Job, by name
	waits waits
}

// see records a Workload that Kueue has admitted.
func (a *admitted) see(workload *unstructured.Unstructured, at time.Time) {
	if !isTrue(workload, "Admitted") {
		return
	}
	owner := metav1.GetControllerOf(workload)
	if owner == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if began, ok := a.began[owner.Name]; ok {
		a.waits = append(a.waits, at.Sub(began))
		delete(a.began, owner.Name)
	}
}

func (a *admitted) begin(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began[name] = time.Now()
}

func (a *admitted) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.began)
}

func isTrue(u *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == kind {
			return c["status"] == "True"
		}
	}
	return false
}

// admissionsFor creates Jobs for a duration and returns how long each waited.
func (l *environment) admissionsFor(ctx context.Context, d time.Duration) (waits, error) {
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(done) })
	defer timer.Stop()
	return l.admissions(ctx, done)
}

// admissions creates Jobs at a steady pace until done is closed. Once Kueue has admitted all of them, it returns how long
// each waited: from the create request to the event that reports the admission of its Workload to this client.
func (l *environment) admissions(ctx context.Context, done <-chan struct{}) (waits, error) {
	dynamic, err := dynamic.NewForConfig(l.plane.Config())
	if err != nil {
		return nil, err
	}
	w, err := dynamic.Resource(workloads).Namespace(kueueNew).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	a := &admitted{began: map[string]time.Time{}}
	tick := time.NewTicker(admitEvery)
	defer tick.Stop()
	for creating := true; creating || a.waiting() > 0; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-done:
			creating, done = false, nil
		case event, ok := <-w.ResultChan():
			if !ok {
				return nil, fmt.Errorf("the watch ended while %d Jobs were waiting", a.waiting())
			}
			if u, isWorkload := event.Object.(*unstructured.Unstructured); isWorkload {
				a.see(u, time.Now())
			}
		case <-tick.C:
			if creating {
				l.queued++
				go l.createQueued(ctx, a, fmt.Sprintf("job-%06d", l.queued))
			}
		}
	}
	return a.waits, nil
}

// createQueued creates a Job for Kueue, suspended as Kueue's webhook expects. If it cannot create the Job, the benchmark
// waits forever: there is nothing to measure.
func (l *environment) createQueued(ctx context.Context, a *admitted, name string) {
	job := batch{namespace: kueueNew, prefix: "job"}.job(0)
	job.Name, job.Labels["kueue.x-k8s.io/queue-name"], job.Spec.Suspend = name, kueueNew, ptr.To(true)
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	a.begin(name)
	_, _ = l.client.BatchV1().Jobs(kueueNew).Create(ctx, job, metav1.CreateOptions{})
}
