// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// podCounts is what a watch has seen of the Pods of a namespace so far.
type podCounts struct {
	now, most    int             // existing Pods
	mostFinished int             // finished Pods among them
	tracked      int             // Pods with the finalizer of the Job controller
	lags         []time.Duration // from the removal of a finished Pod's finalizer to the deletion of the Pod, in order
}

// podCounter counts Pods in its own goroutine until the context ends.
type podCounter struct {
	podCounts
	finished int
	pods     map[types.UID]podState
	asked    chan chan podCounts
	ended    chan error
}

type podState struct {
	finished, tracked bool
	counted           time.Time // when the finalizer was removed; zero before
}

// countPods starts a watch, and resumes it whenever the API server closes the watch because the client is slow.
func (l *environment) countPods(ctx context.Context) (*podCounter, error) {
	pods := l.client.CoreV1().Pods(podsNamespace)
	none, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	stream, err := toolswatch.NewRetryWatcherWithContext(ctx, none.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: pods.Watch})
	if err != nil {
		return nil, err
	}
	c := &podCounter{pods: map[types.UID]podState{}, asked: make(chan chan podCounts), ended: make(chan error, 1)}
	go func() {
		defer stream.Stop()
		c.ended <- c.count(ctx, stream.ResultChan())
	}()
	return c, nil
}

func (c *podCounter) count(ctx context.Context, events <-chan watch.Event) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case answer := <-c.asked:
			counts := c.podCounts
			counts.lags = slices.Sorted(slices.Values(c.lags))
			answer <- counts
		case event, ok := <-events:
			pod, isPod := event.Object.(*corev1.Pod)
			if !ok || !isPod {
				return fmt.Errorf("the watch of Pods ended: %v", event.Object)
			}
			c.see(event.Type, pod, time.Now())
		}
	}
}

func (c *podCounter) see(what watch.EventType, pod *corev1.Pod, at time.Time) {
	before, known := c.pods[pod.UID]
	after := podState{
		finished: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		tracked:  slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer),
		counted:  before.counted,
	}
	if after.counted.IsZero() && after.finished && !after.tracked {
		after.counted = at
	}
	if what == watch.Deleted {
		if !before.counted.IsZero() {
			c.lags = append(c.lags, at.Sub(before.counted))
		}
		after = podState{}
		delete(c.pods, pod.UID)
	} else {
		c.pods[pod.UID] = after
	}
	c.now += one(what != watch.Deleted) - one(known)
	c.finished += one(after.finished) - one(before.finished)
	c.tracked += one(after.tracked) - one(before.tracked)
	c.most, c.mostFinished = max(c.most, c.now), max(c.mostFinished, c.finished)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// until waits until the counts satisfy ok, and returns them.
func (c *podCounter) until(ctx context.Context, ok func(podCounts) bool) (podCounts, error) {
	for {
		answer := make(chan podCounts, 1)
		select {
		case err := <-c.ended:
			return podCounts{}, err
		case c.asked <- answer:
		}
		counts := <-answer
		if ok(counts) {
			return counts, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return counts, fmt.Errorf("%d Pods exist, %d of them with a finalizer: %w", counts.now, counts.tracked, err)
		}
	}
}
