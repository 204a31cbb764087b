// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ending says how and when a Job or a Pod ends, according to its status.
type ending struct {
	well  bool
	later time.Duration // than now; negative for earlier
	// silent Pods do not report the time, unless they have reported it before.
	silent bool
}

func (d *drawing) ending() ending {
	return ending{well: d.chance(60), later: pick(d, 0, 0, 0, -5*time.Second, 3*time.Second), silent: d.chance(15)}
}

func (e ending) String() string {
	return fmt.Sprintf("ends, well: %v, %s later, silent: %v", e.well, e.later, e.silent)
}

// end ends an object. If the object has ended before, end changes the time.
type end struct {
	draft
	ending
}

func (e end) String() string { return e.name + " " + e.ending.String() }

func (e end) on(s *stage) {
	o := e.empty(s)
	err := s.Get(s.Context(), client.ObjectKeyFromObject(o), o)
	if err == nil {
		at := metav1.NewTime(time.Now().Add(e.later))
		switch o := o.(type) {
		case *batchv1.Job:
			e.ofJob(o, at)
		case *corev1.Pod:
			e.ofPod(o, at)
		}
		err = s.Client.Status().Update(s.Context(), o)
	}
	s.tolerate(err)
}

// ofJob writes the status that the Job controller would write. The outcome of a finished Job does not change.
func (e ending) ofJob(o *batchv1.Job, at metav1.Time) {
	if len(o.Status.Conditions) > 0 {
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = at
		}
		return
	}
	o.Status.StartTime = &o.CreationTimestamp
	conditions := []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
	if e.well {
		o.Status.CompletionTime, o.Status.Succeeded = ptr.To(metav1.Now()), 1
		conditions = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
	}
	for _, name := range conditions {
		o.Status.Conditions = append(o.Status.Conditions, batchv1.JobCondition{Type: name, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
}

// ofPod writes the status that a kubelet would write.
func (e ending) ofPod(o *corev1.Pod, at metav1.Time) {
	o.Status.Phase = corev1.PodFailed
	if e.well {
		o.Status.Phase = corev1.PodSucceeded
	}
	if e.silent && len(o.Status.ContainerStatuses) == 0 {
		return
	}
	ended := &corev1.ContainerStateTerminated{FinishedAt: at}
	if !e.well {
		ended.ExitCode = 1
	}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{Terminated: ended}}}
}

const container = "main"

// newJob returns a Job that the Job controller ignores.
func newJob() *batchv1.Job {
	return &batchv1.Job{Spec: batchv1.JobSpec{
		ManagedBy: ptr.To("faults.sunset.test/schedule"),
		Template:  corev1.PodTemplateSpec{Spec: newPod().Spec},
	}}
}

// newPod returns a Pod that no node runs.
func newPod() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: container, Image: "busybox"}},
	}}
}
