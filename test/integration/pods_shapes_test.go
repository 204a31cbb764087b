// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// shape is a type of Job with the events of its life.
type shape struct {
	spec func(*batchv1.JobSpec)
	// fate returns how the nth Pod of the Job ends, counted from zero; nil means that all succeed.
	fate func(pod *corev1.Pod, nth int) cluster.Outcome
	// before runs before the Job is created, the other function while it runs; nil does nothing.
	before, meanwhile func(*run)
	// ends is how the Job ends without Sunset; omitted fields are zero.
	ends ending
}

// ending is the final state of a Job.
type ending struct {
	Succeeded, Failed, Active, Ready, Terminating int32
	CompletedIndexes, FailedIndexes               string
	Uncounted                                     int
	Conditions                                    string // the True conditions, with their reasons
	Gone                                          bool
	Tracked                                       int // Pods with the finalizer
}

// run is a shape in one namespace.
type run struct {
	*env
	shape
	job *batchv1.Job
}

var (
	complete = "SuccessCriteriaMet CompletionsReached, Complete CompletionsReached"
	failedBy = func(reason string) string { return "FailureTarget " + reason + ", Failed " + reason }
)

func succeedFrom(first int) func(*corev1.Pod, int) cluster.Outcome {
	return func(_ *corev1.Pod, nth int) cluster.Outcome {
		if nth < first {
			return cluster.Failed
		}
		return cluster.Succeeded
	}
}

// indexOf is the completion index of a Pod; retryOf is how often that index has failed before.
func indexOf(pod *corev1.Pod) string { return pod.Annotations[batchv1.JobCompletionIndexAnnotation] }
func retryOf(pod *corev1.Pod) string { return pod.Annotations[batchv1.JobIndexFailureCountAnnotation] }

func indexed(completions, parallelism int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		sized(completions, parallelism)(s)
		s.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	}
}

func sized(completions, parallelism int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		s.Completions, s.Parallelism, s.BackoffLimit = &completions, &parallelism, ptr.To[int32](6)
	}
}

// both combines two changes.
func both(a, b func(*batchv1.JobSpec)) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { a(s); b(s) }
}

var shapes = map[string]shape{
	"non-indexed": {spec: sized(12, 4), ends: ending{Succeeded: 12, Conditions: complete}},
	"indexed":     {spec: indexed(12, 4), ends: ending{Succeeded: 12, CompletedIndexes: "0-11", Conditions: complete}},
	"work queue": {
		spec: func(s *batchv1.JobSpec) { s.Parallelism = ptr.To[int32](5) },
		ends: ending{Succeeded: 5, Conditions: complete},
	},
	"failures, and retries that succeed": {
		spec: sized(6, 3), fate: succeedFrom(2),
		ends: ending{Succeeded: 6, Failed: 2, Conditions: complete},
	},
	"too many failures": {
		spec: both(sized(3, 3), func(s *batchv1.JobSpec) { s.BackoffLimit = ptr.To[int32](2) }), fate: succeedFrom(100),
		ends: ending{Failed: 3, Conditions: failedBy(batchv1.JobReasonBackoffLimitExceeded)},
	},
	"backoffLimitPerIndex": { // index 1 always fails, index 3 fails once
		spec: both(indexed(6, 6), func(s *batchv1.JobSpec) { s.BackoffLimit, s.BackoffLimitPerIndex = nil, ptr.To[int32](1) }),
		fate: func(pod *corev1.Pod, _ int) cluster.Outcome {
			if indexOf(pod) == "1" || indexOf(pod) == "3" && retryOf(pod) == "0" {
				return cluster.Failed
			}
			return cluster.Succeeded
		},
		ends: ending{Succeeded: 5, Failed: 3, CompletedIndexes: "0,2-5", FailedIndexes: "1", Conditions: failedBy(batchv1.JobReasonFailedIndexes)},
	},
	"podFailurePolicy fails indexes": {
		spec: both(indexed(8, 4), func(s *batchv1.JobSpec) {
			s.BackoffLimit, s.BackoffLimitPerIndex = nil, ptr.To[int32](5)
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action:      batchv1.PodFailurePolicyActionFailIndex,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}},
			}}}
		}),
		fate: func(pod *corev1.Pod, _ int) cluster.Outcome {
			if i, _ := strconv.Atoi(indexOf(pod)); i%4 == 2 {
				return cluster.Failed
			}
			return cluster.Succeeded
		},
		ends: ending{Succeeded: 6, Failed: 2, CompletedIndexes: "0,1,3-5,7", FailedIndexes: "2,6", Conditions: failedBy(batchv1.JobReasonFailedIndexes)},
	},
	"successPolicy": {
		spec: both(indexed(4, 4), func(s *batchv1.JobSpec) {
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr.To("0-1")}}}
		}),
		fate: func(pod *corev1.Pod, _ int) cluster.Outcome {
			if indexOf(pod) > "1" {
				return cluster.Endless
			}
			return cluster.Succeeded
		},
		ends: ending{Succeeded: 2, CompletedIndexes: "0,1", Conditions: "SuccessCriteriaMet SuccessPolicy, Complete SuccessPolicy"},
	},
	"suspended and resumed": { // after two have succeeded, while three run
		spec: sized(8, 3), fate: endlessFrom(2, 5),
		meanwhile: func(r *run) {
			r.until("two have succeeded, three run", func(s *batchv1.JobStatus) bool { return s.Succeeded == 2 && s.Active == 3 })
			r.suspend(true)
			r.until("nothing runs", func(s *batchv1.JobStatus) bool { return s.Active == 0 && ptr.Deref(s.Terminating, 0) == 0 })
			r.suspend(false)
		},
		ends: ending{Succeeded: 8, Conditions: complete},
	},
	"deleted in the middle":                    deletedInTheMiddle(metav1.DeletePropagationBackground),
	"deleted in the middle, in the foreground": deletedInTheMiddle(metav1.DeletePropagationForeground),
	"deleted in the middle, without its Pods":  deletedInTheMiddle(metav1.DeletePropagationOrphan),
	"adopted Pods": {
		spec: both(sized(3, 1), func(s *batchv1.JobSpec) {
			s.ManualSelector, s.Selector = ptr.To(true), &metav1.LabelSelector{MatchLabels: found}
			s.Template.Labels = found
		}),
		before: func(r *run) {
			r.pod("runs", found, cluster.Endless)
			done := r.pod("done", found, cluster.Succeeded)
			cluster.Eventually(r, patience, func() error {
				if err := r.Get(r.Context(), client.ObjectKeyFromObject(done), done); err != nil || isFinished(done) {
					return err
				}
				return errors.New("the Job has not finished")
			})
		},
		meanwhile: func(r *run) {
			r.until("the finished Pod is counted and the other one runs", func(s *batchv1.JobStatus) bool { return s.Succeeded == 1 && s.Active == 1 })
			r.decide("runs", cluster.Succeeded)
		},
		ends: ending{Succeeded: 3, Conditions: complete},
	},
}

var found = map[string]string{"found": "true"}

// endlessFrom makes the Pods from one index to before another run forever; all others succeed.
func endlessFrom(from, to int) func(*corev1.Pod, int) cluster.Outcome {
	return func(_ *corev1.Pod, nth int) cluster.Outcome {
		if nth >= from && nth < to {
			return cluster.Endless
		}
		return cluster.Succeeded
	}
}

func deletedInTheMiddle(how metav1.DeletionPropagation) shape {
	return shape{
		spec: sized(12, 4), fate: endlessFrom(4, 100),
		meanwhile: func(r *run) {
			r.until("four have succeeded, four run", func(s *batchv1.JobStatus) bool { return s.Succeeded == 4 && s.Active == 4 })
			expect.NoError(r, r.Delete(r.Context(), r.job, client.PropagationPolicy(how)))
		},
		ends: ending{Gone: true},
	}
}

// start creates the Job.
func (r *run) start(name string) {
	r.Helper()
	if r.before != nil {
		r.before(r)
	}
	outcome := cluster.Succeeded
	if r.fate != nil {
		outcome = cluster.Endless // until decide sets it
	}
	r.job = r.env.job(name, outcome, 50*time.Millisecond, func(job *batchv1.Job) { r.spec(&job.Spec) })
}

// end waits until the Job and its Pods no longer change.
func (r *run) end() (e ending) {
	r.Helper()
	if r.meanwhile != nil {
		r.meanwhile(r)
	}
	cluster.Eventually(r, patience, func() error {
		var finished bool
		var err error
		if e, finished, err = r.look(); err != nil {
			return err
		}
		return cluster.Want(finished && e.Active+e.Terminating == 0 && e.Uncounted+e.Tracked == 0, "%+v", e)
	})
	return e
}

// look returns the current state, and whether the Job has finished.
func (r *run) look() (e ending, finished bool, err error) {
	pods, err := r.pods(r.job.Name)
	if err != nil {
		return e, false, err
	}
	for _, pod := range pods {
		if isTracked(&pod) {
			e.Tracked++
		}
	}
	job := &batchv1.Job{}
	if err := r.Get(r.Context(), client.ObjectKeyFromObject(r.job), job); err != nil {
		e.Gone = apierrors.IsNotFound(err)
		return e, e.Gone, client.IgnoreNotFound(err)
	}
	s := job.Status
	e.Succeeded, e.Failed, e.Active, e.Ready, e.Terminating = s.Succeeded, s.Failed, s.Active, ptr.Deref(s.Ready, 0), ptr.Deref(s.Terminating, 0)
	e.CompletedIndexes, e.FailedIndexes = s.CompletedIndexes, ptr.Deref(s.FailedIndexes, "")
	if u := s.UncountedTerminatedPods; u != nil {
		e.Uncounted = len(u.Succeeded) + len(u.Failed)
	}
	for _, c := range s.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		if e.Conditions != "" {
			e.Conditions += ", "
		}
		e.Conditions += string(c.Type) + " " + c.Reason
		finished = finished || c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed
	}
	return e, finished, nil
}

// until waits for a status of the Job.
func (r *run) until(what string, ok func(*batchv1.JobStatus) bool) {
	r.Helper()
	cluster.Eventually(r, patience, func() error {
		job := &batchv1.Job{}
		if err := r.Get(r.Context(), client.ObjectKeyFromObject(r.job), job); err != nil {
			return err
		}
		return cluster.Want(ok(&job.Status), "waiting until %s: %+v", what, job.Status)
	})
}

func (r *run) suspend(suspend bool) {
	r.Helper()
	r.merge(r.job.DeepCopy(), fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
}

// pod creates a Pod without an owner, which a Job with these labels adopts.
func (w *env) pod(name string, labels map[string]string, outcome cluster.Outcome) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, NodeName: cluster.NodeName(0),
			Containers: []corev1.Container{{Name: "main", Image: "busybox"}},
		},
	}
	cluster.SetFate(pod, outcome, 0)
	w.create(pod)
	return pod
}

// decide sets the outcome of a Pod that runs without one.
func (w *env) decide(name string, outcome cluster.Outcome) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	err := w.Patch(w.Context(), pod, edit(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, cluster.OutcomeAnnotation, outcome)))
	if client.IgnoreNotFound(err) != nil && w.Context().Err() == nil {
		w.Errorf("set the outcome of Pod %s: %v", name, err)
	}
}

// pods returns the Pods of a Job, or all Pods of the namespace if the name is empty.
func (w *env) pods(job string) ([]corev1.Pod, error) {
	options := []client.ListOption{client.InNamespace(w.namespace)}
	if job != "" {
		options = append(options, client.MatchingLabels{batchv1.JobNameLabel: job})
	}
	pods := &corev1.PodList{}
	err := w.List(w.Context(), pods, options...)
	return pods.Items, err
}
