// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/expect"
)

// ConfigMap creates a ConfigMap in the scenario's namespace.
func (s *Scenario) ConfigMap(name string, labels map[string]string, adjust ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	s.Helper()
	return created(s, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, adjust)
}

// FinishedJob creates a Job that has already completed, without Pods. The Job controller does not manage it.
func (s *Scenario) FinishedJob(name string) *batchv1.Job {
	s.Helper()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0),
			ManagedBy:    ptr.To("faults.sunset.test/scene"), // the Job controller ignores the Job
			Template:     corev1.PodTemplateSpec{Spec: podSpec()},
		},
	}
	s.MustCreate(job)
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp, CompletionTime: &now, Succeeded: 1}
	for _, name := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions,
			batchv1.JobCondition{Type: name, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now})
	}
	if err := s.Client.Status().Update(s.Context(), job); err != nil {
		s.Fatalf("finish Job %s: %v", name, err)
	}
	return job
}

// Pod creates a Pod that ends with an outcome after a while. The scenario must have Nodes.
func (s *Scenario) Pod(name string, outcome cluster.Outcome, runFor time.Duration, adjust ...func(*corev1.Pod)) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec()}
	cluster.SetFate(pod, outcome, runFor)
	return created(s, pod, adjust)
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		NodeName:      cluster.NodeName(0),
		Containers:    []corev1.Container{{Name: "main", Image: "busybox"}},
	}
}

// created adjusts an object and creates it.
func created[T client.Object](s *Scenario, object T, adjust []func(T)) T {
	s.Helper()
	for _, a := range adjust {
		a(object)
	}
	s.MustCreate(object)
	return object
}

// MustCreate creates an object of any kind. A namespaced object without a namespace is created in the scenario's namespace.
func (s *Scenario) MustCreate(object client.Object) {
	s.Helper()
	namespaced, err := s.IsObjectNamespaced(object)
	if err == nil && namespaced && object.GetNamespace() == "" {
		object.SetNamespace(s.Namespace)
	}
	if err := errors.Join(err, s.Create(s.Context(), object)); err != nil {
		s.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// Remove deletes objects as a user. It ignores objects that do not exist.
func (s *Scenario) Remove(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		err := s.Delete(s.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			s.Fatalf("delete %T %s: %v", object, object.GetName(), err)
		}
	}
}

// Change reads, changes and writes an object, and retries after a conflict. The object then has the stored state.
func (s *Scenario) Change(object client.Object, change func()) {
	s.Helper()
	s.Eventually(func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return s.Update(s.Context(), object)
	})
}

// Hold adds the hold annotation to an object.
func (s *Scenario) Hold(object client.Object) {
	s.Helper()
	s.annotate(object, v1alpha1.HoldAnnotation, "true")
}

// Unhold removes the hold annotation.
func (s *Scenario) Unhold(object client.Object) {
	s.Helper()
	s.Change(object, func() {
		annotations := object.GetAnnotations()
		delete(annotations, v1alpha1.HoldAnnotation)
		object.SetAnnotations(annotations)
	})
}

// Touch creates another version of an object by an annotation.
func (s *Scenario) Touch(object client.Object) {
	s.Helper()
	s.annotate(object, "faults.sunset.test/touched", time.Now().Format(time.RFC3339Nano))
}

func (s *Scenario) annotate(object client.Object, key, value string) {
	s.Helper()
	s.Change(object, func() {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		object.SetAnnotations(annotations)
	})
}

// Gone waits until objects do not exist any more.
func (s *Scenario) Gone(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		s.Eventually(func() error {
			switch now, err := s.look(object); {
			case apierrors.IsNotFound(err), err == nil && now.GetUID() != object.GetUID():
				return nil
			case err != nil:
				return err
			default:
				return fmt.Errorf("%T %s still exists", object, object.GetName())
			}
		})
	}
}

// look reads an object without changing its argument.
func (s *Scenario) look(object client.Object) (client.Object, error) {
	now := object.DeepCopyObject().(client.Object)
	err := s.Get(s.Context(), client.ObjectKeyFromObject(object), now)
	return now, err
}

// Stays fails the test if an object is deleted, replaced or terminating, now or within the time.
func (s *Scenario) Stays(within time.Duration, objects ...client.Object) {
	s.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(min(500*time.Millisecond, time.Until(deadline))) {
		for _, object := range objects {
			switch now, err := s.look(object); {
			case err != nil:
				s.Fatalf("%T %s should have been kept: %v", object, object.GetName(), err)
			case object.GetUID() != "" && now.GetUID() != object.GetUID():
				s.Fatalf("%T %s should have been kept, but was recreated", object, object.GetName())
			case now.GetDeletionTimestamp() != nil:
				s.Fatalf("%T %s should have been kept, but is terminating", object, object.GetName())
			}
		}
		if time.Now().After(deadline) {
			return
		}
	}
}

// Left returns the number of objects of a list's kind with labels in the scenario's namespace.
func (s *Scenario) Left(list client.ObjectList, labels map[string]string) int {
	s.Helper()
	expect.NoError(s, s.List(s.Context(), list, client.InNamespace(s.Namespace), client.MatchingLabels(labels)))
	return meta.LenList(list)
}

// Eventually waits until check returns nil.
func (s *Scenario) Eventually(check func() error) {
	s.Helper()
	cluster.Eventually(s, Patience(), check)
}
