// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

func (s *story) sawJob(object *batchv1.Job, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.job(object)
	hold, held := object.Annotations[v1alpha1.HoldAnnotation]
	held = held && hold != "false"
	if j.held && !held {
		j.released = now
	}
	j.held = held
	j.finished, j.failed = finish(object)
}

func (s *story) missedJob(object *batchv1.Job, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.job(object)
	j.finished, j.failed = finish(object)
	j.gone = now
}

func (s *story) job(object *batchv1.Job) *job {
	if s.jobs[object.UID] == nil {
		s.jobs[object.UID] = &job{namespace: object.Namespace, name: object.Name}
		s.order = append(s.order, object.UID)
	}
	return s.jobs[object.UID]
}

// finish returns when a Job finished, which is zero while it runs, and whether it failed.
func finish(object *batchv1.Job) (at time.Time, failed bool) {
	for _, c := range object.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, c.Type == batchv1.JobFailed
		}
	}
	return time.Time{}, false
}

func (s *story) sawPod(object *corev1.Pod, _ time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner := metav1.GetControllerOf(object); owner != nil {
		s.pods[object.UID] = owner.UID
		s.ran[owner.UID] = true
	}
}

func (s *story) missedPod(object *corev1.Pod, _ time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, object.UID)
}

func (s *story) sawPolicy(object *v1alpha1.ClusterRetentionPolicy, now time.Time) {
	if object.Name == policyName {
		s.say(rulesOf(object, now))
	}
}
