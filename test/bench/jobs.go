// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// batch is a set of Jobs to create, all finished at a given time.
type batch struct {
	namespace string
	prefix    string
	count     int
	finished  func(i int) time.Time
	ttl       *int32 // spec.ttlSecondsAfterFinished
	labels    map[string]string
	ttlOf     func(i int) time.Duration // stored in an annotation; nil for none
}

// anHourAgo is when the Jobs of a backlog have finished.
func anHourAgo(int) time.Time { return time.Now().Add(-time.Hour) }

func (b batch) name(i int) string { return fmt.Sprintf("%s-%06d", b.prefix, i) }

// creators is the number of concurrent requests that create objects.
const creators = 32

// create creates the namespace and the first Job of a batch, marks the Job as finished, and writes the others into etcd as copies of it.
func (l *environment) create(ctx context.Context, b batch) error {
	if err := ensureNamespace(ctx, l.client, b.namespace); err != nil {
		return err
	}
	jobs := l.client.BatchV1().Jobs(b.namespace)
	first, err := jobs.Create(ctx, b.job(0), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create Job: %w", err)
	}
	first.Status = finishedStatus(b.finished(0))
	if _, err := jobs.UpdateStatus(ctx, first, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("finish Job: %w", err)
	}
	stored, err := l.storage.read(ctx, "/registry/jobs/"+b.namespace+"/"+b.name(0))
	if err != nil {
		return err
	}
	return l.storage.copies(ctx, stored, b.count-1, 1, func(i int, copied runtime.Object) string {
		job, of := copied.(*batchv1.Job), b.job(i+1)
		job.Annotations, job.Status = of.Annotations, finishedStatus(b.finished(i+1))
		return l.storage.copyOfJob(job, b.namespace, of.Name, nil)
	})
}

// job returns a Job that looks like those that people run: labels, environment, resources.
func (b batch) job(i int) *batchv1.Job {
	labels := map[string]string{"app": "etl", "team": "data", "app.kubernetes.io/part-of": "nightly"}
	for k, v := range b.labels {
		labels[k] = v
	}
	annotations := map[string]string{"example.com/commit": "5f2c9b1e7a", "example.com/owner": "data-platform@example.com"}
	if b.ttlOf != nil {
		annotations["example.com/ttl"] = b.ttlOf(i).String()
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.namespace, Name: b.name(i), Labels: labels, Annotations: annotations,
		},
		Spec: batchv1.JobSpec{
			Suspend: ptr.To(true), BackoffLimit: ptr.To[int32](2), TTLSecondsAfterFinished: b.ttl,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "etl"}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{
						Name: "main", Image: "registry.example.com/data/etl:1.14.2", Args: []string{"--date", "2026-01-01", "--full"},
						Env: []corev1.EnvVar{{Name: "REGION", Value: "eu-central-1"}, {Name: "BATCH", Value: fmt.Sprint(i)}},
					}},
				},
			},
		},
	}
}

func finishedStatus(at time.Time) batchv1.JobStatus {
	t := metav1.NewTime(at)
	condition := func(kind batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastProbeTime: t, LastTransitionTime: t,
			Reason: "CompletionsReached", Message: "Reached expected number of succeeded pods",
		}
	}
	start := metav1.NewTime(at.Add(-time.Minute))
	return batchv1.JobStatus{
		Conditions: []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)},
		StartTime:  &start, CompletionTime: &t, Succeeded: 1,
	}
}

func ensureNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err == nil {
		return nil
	}
	_, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	return err
}

// remaining counts the Jobs of a namespace, without reading them.
func remaining(ctx context.Context, client kubernetes.Interface, namespace string) (int, error) {
	list, err := client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, err
	}
	return len(list.Items) + int(ptr.Deref(list.RemainingItemCount, 0)), nil
}

// drained waits until a namespace has no Jobs and returns the time that this took.
func drained(ctx context.Context, client kubernetes.Interface, namespace string, since time.Time) (time.Duration, error) {
	err := untilNone(ctx, func(ctx context.Context) (int, error) { return remaining(ctx, client, namespace) })
	return time.Since(since), err
}

// untilNone waits until no objects are left. The more there are, the less often it counts them, because that takes time from
// the API server that the drain needs.
func untilNone(ctx context.Context, count func(context.Context) (int, error)) error {
	for {
		left, err := count(ctx)
		if err != nil || left == 0 {
			return err
		}
		if err := pause(ctx, max(20*time.Millisecond, time.Duration(left)*200*time.Microsecond)); err != nil {
			return fmt.Errorf("%d objects are left: %w", left, err)
		}
	}
}
