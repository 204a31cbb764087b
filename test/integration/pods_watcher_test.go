// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/proxy"
)

// podWatcher records every version of every Pod of a namespace until its deletion.
type podWatcher struct {
	mu       sync.Mutex
	versions map[objectVersion]*corev1.Pod
	counted  map[types.UID]time.Time // arrival of the first version without the finalizer
	removed  map[types.UID]time.Time
	came     func(*corev1.Pod) // called with each new Pod; may be nil
	err      error
}

// watchPods starts a podWatcher of the namespace, from now until the test ends.
func (w *env) watchPods(came func(*corev1.Pod)) *podWatcher {
	w.Helper()
	clients, err := kubernetes.NewForConfig(w.plane.Config())
	expect.NoError(w, err)
	pods := clients.CoreV1().Pods(w.namespace)
	none, err := pods.List(w.Context(), metav1.ListOptions{})
	expect.NoError(w, err)
	// The watch resumes if the API server closes it because the client is slow.
	stream, err := toolswatch.NewRetryWatcherWithContext(context.Background(), none.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: pods.Watch})
	expect.NoError(w, err)
	seen := &podWatcher{versions: map[objectVersion]*corev1.Pod{}, counted: map[types.UID]time.Time{}, removed: map[types.UID]time.Time{}, came: came}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range stream.ResultChan() {
			seen.see(event)
		}
	}()
	w.Cleanup(func() { stream.Stop(); <-ended })
	return seen
}

func (s *podWatcher) see(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok:
		s.err = fmt.Errorf("watch of Pods: %v", event.Object)
		return
	case event.Type == watch.Deleted:
		s.removed[pod.UID] = time.Now()
		return
	case event.Type == watch.Added && s.came != nil:
		s.came(pod)
	}
	s.versions[objectVersion{pod.UID, pod.ResourceVersion}] = pod
	if _, known := s.counted[pod.UID]; !known && isFinished(pod) && !isTracked(pod) {
		s.counted[pod.UID] = time.Now()
	}
}

func isTracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// check checks DELETE requests that a proxy has recorded. Each must name a version of a Pod that had finished and that its
// Job had counted.
func (s *podWatcher) check(requests []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	for _, request := range requests {
		var options metav1.DeleteOptions
		if err := json.Unmarshal([]byte(request[strings.Index(request, "{"):]), &options); err != nil {
			return fmt.Errorf("%s: %w", request, err)
		}
		if options.Preconditions == nil || options.Preconditions.UID == nil || options.Preconditions.ResourceVersion == nil {
			return fmt.Errorf("%s has no preconditions", request)
		}
		pod := s.versions[objectVersion{*options.Preconditions.UID, *options.Preconditions.ResourceVersion}]
		switch {
		case pod == nil:
			return fmt.Errorf("%s names a version that the watch has not reported", request)
		case isTracked(pod):
			return fmt.Errorf("%s names a Pod that its Job had not counted", request)
		case !isFinished(pod):
			return fmt.Errorf("%s names a Pod that had not finished", request)
		}
	}
	return nil
}

// lags returns the times from the count of a Pod to its deletion, in order, of Pods that are counted and deleted.
func (s *podWatcher) lags() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lags []time.Duration
	for uid, counted := range s.counted {
		if removed, ok := s.removed[uid]; ok {
			lags = append(lags, removed.Sub(counted))
		}
	}
	slices.Sort(lags)
	return lags
}

// deletesPods matches the requests that delete Pods of the namespace.
func (w *env) deletesPods(r *http.Request) bool {
	return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/namespaces/"+w.namespace+"/pods/")
}

// measured is a controller in a separate process, whose metrics count only what this test does.
type measured struct {
	*process
	metrics string // URL
}

// measured starts a controller that also serves its metrics.
func (w *env) measured(g *proxy.Proxy) measured {
	w.Helper()
	port, err := cluster.FreePort()
	expect.NoError(w, err)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	return measured{controller(w.T, g, "--leader-elect=false", "--metrics-bind-address="+address), "http://" + address + "/metrics"}
}

// uncountedPods returns the exported gauges of uncounted Pods, by state.
func (m measured) uncountedPods() (map[string]int, error) {
	answer, err := http.Get(m.metrics)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	states := map[string]int{}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		var state string
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "sunset_uncounted_pods{state=%q} %d", &state, &n); err == nil {
			states[state] = n
		}
	}
	if len(states) != 3 {
		return nil, fmt.Errorf("%s: sunset_uncounted_pods has %v", answer.Status, states)
	}
	return states, nil
}

// nothingLeaks waits until no finished or deleted Pod of the namespace has the finalizer, and until the gauges of the controller are
// zero.
func (w *env) nothingLeaks(m measured) {
	w.Helper()
	cluster.Eventually(w, patience, func() error {
		pods, err := w.pods("")
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if isTracked(&pod) && (isFinished(&pod) || pod.DeletionTimestamp != nil) {
				return fmt.Errorf("Pod %s keeps its finalizer", pod.Name)
			}
		}
		states, err := m.uncountedPods()
		if err == nil && states["due"]+states["overdue"]+states["terminating"] > 0 {
			err = errors.New("the gauges are not at zero")
		}
		return err
	})
}
