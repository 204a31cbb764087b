// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// story is the history of the cluster according to the demo's own watches, independent of Sunset.
type story struct {
	mu    sync.Mutex
	order []types.UID // in order of creation
	jobs  map[types.UID]*job
	pods  map[types.UID]types.UID // Pod to Job
	ran   map[types.UID]bool      // Jobs that have had a Pod
	rules history
}

func newStory() *story {
	return &story{jobs: map[types.UID]*job{}, pods: map[types.UID]types.UID{}, ran: map[types.UID]bool{}}
}

// tell returns copies of all Jobs, in the order of their creation, and of the rules.
func (s *story) tell() ([]job, history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := make([]job, len(s.order))
	for i, uid := range s.order {
		jobs[i] = *s.jobs[uid]
		jobs[i].ran = s.ran[uid]
	}
	for _, uid := range s.pods {
		if i := slices.Index(s.order, uid); i >= 0 {
			jobs[i].pods++
		}
	}
	return jobs, slices.Clone(s.rules)
}

// say adds a snapshot of the rules.
func (s *story) say(r rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = s.rules.add(r)
}

// follow starts the watches, which end with ctx.
func (s *story) follow(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	watches, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	for object, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&batchv1.Job{}:                     on(s.sawJob, s.missedJob),
		&corev1.Pod{}:                      on(s.sawPod, s.missedPod),
		&v1alpha1.ClusterRetentionPolicy{}: on(s.sawPolicy, func(*v1alpha1.ClusterRetentionPolicy, time.Time) {}),
	} {
		informer, err := watches.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	go func() { _ = watches.Start(ctx) }() // it fails only before its watches begin, and then the sync fails too
	if !watches.WaitForCacheSync(ctx) {
		return errors.New("the watches did not start")
	}
	return nil
}

// on passes each event with its arrival time, which it takes first.
func on[T any](saw, missed func(T, time.Time)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { saw(object.(T), time.Now()) },
		UpdateFunc: func(_, object any) { saw(object.(T), time.Now()) },
		DeleteFunc: func(object any) {
			now := time.Now()
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			missed(object.(T), now)
		},
	}
}
