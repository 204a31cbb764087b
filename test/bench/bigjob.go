// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/test/cluster"
)

const podsNamespace = "pods"

const podsPolicy = `
  mode: Enforce
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: pods}}
  rules:
  - name: succeeded
    target: {apiVersion: v1, kind: Pod}
    eligible: succeeded(object) && controllerOf(object).?kind.orValue('') == 'Job'
    startTime: finishedAt(object)
    ttl: 0s
`

// podsOn calls run in an environment with fake nodes, a Job controller and the controller that collects finished Pods.
func (l *environment) podsOn(ctx context.Context, run func(*environment, context.Context) (podsRun, error)) (podsRun, error) {
	own, err := openEnvironment(ctx, l.options, cluster.Options{
		Nodes:       1,
		Controllers: append(cluster.DefaultControllers(), "pod-garbage-collector-controller"),
	})
	if err != nil {
		return podsRun{}, err
	}
	defer own.close()
	config := own.plane.Config()
	config.ContentType = "application/vnd.kubernetes.protobuf" // as kube-controller-manager uses: the API server encodes once for both
	if own.client, err = kubernetes.NewForConfig(config); err != nil {
		return podsRun{}, err
	}
	if err := ensureNamespace(ctx, own.client, podsNamespace); err != nil {
		return podsRun{}, err
	}
	return run(own, ctx)
}

// runJobWithSunset is runJob while Sunset runs.
func (l *environment) runJobWithSunset(ctx context.Context) (podsRun, error) {
	if _, err := l.apply(ctx, "pods", podsPolicy); err != nil {
		return podsRun{}, err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return podsRun{}, err
	}
	defer sunset.stop()
	if err := l.enforcing(ctx, "pods"); err != nil {
		return podsRun{}, err
	}
	run, err := l.measureJob(ctx, func(c podCounts) bool { return c.now == 0 })
	if err != nil {
		return podsRun{}, err
	}
	run.sunset, err = footprintOf(sunset.pid())
	return run, err
}

// runJob runs one Job to completion. Only the collector of finished Pods deletes its Pods.
func (l *environment) runJob(ctx context.Context) (podsRun, error) {
	return l.measureJob(ctx, func(podCounts) bool { return true })
}

// measureJob runs one Job to completion, and waits until its Pods satisfy settled.
func (l *environment) measureJob(ctx context.Context, settled func(podCounts) bool) (run podsRun, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	counter, err := l.countPods(ctx)
	if err != nil {
		return run, err
	}
	job, err := l.client.BatchV1().Jobs(podsNamespace).Create(ctx, l.bigJob(), metav1.CreateOptions{})
	if err != nil {
		return run, err
	}
	began := time.Now()
	if run.status, err = l.jobEnd(ctx, job.Name); err != nil {
		return run, err
	}
	run.took = time.Since(began)
	if run.pods, err = counter.until(ctx, func(c podCounts) bool { return c.tracked == 0 && settled(c) }); err != nil {
		return run, err
	}
	run.more = time.Since(began) - run.took
	return run, l.addFootprints(&run)
}

func (l *environment) addFootprints(run *podsRun) (err error) {
	if run.api, err = footprintOf(l.plane.PID(cluster.APIServer)); err != nil {
		return err
	}
	if run.kcm, err = footprintOf(l.plane.PID(cluster.ControllerManager)); err != nil {
		return err
	}
	for _, c := range []cluster.Component{cluster.Etcd, cluster.Kwok} {
		used, err := cpu(l.plane.PID(c))
		if err != nil {
			return err
		}
		run.others += used
	}
	return nil
}

func (l *environment) bigJob() *batchv1.Job {
	job := (batch{namespace: podsNamespace, prefix: "big"}).job(0)
	job.Spec = batchv1.JobSpec{
		CompletionMode: ptr.To(batchv1.IndexedCompletion),
		Completions:    ptr.To(int32(l.size.completions)),
		Parallelism:    ptr.To(int32(l.size.parallelism)),
		Template:       job.Spec.Template,
	}
	job.Spec.Template.Spec.NodeName = cluster.NodeName(0)
	return job
}

// jobEnd waits until a Job is complete. It polls only twice a second because the status of a big Job is large.
func (l *environment) jobEnd(ctx context.Context, name string) (batchv1.JobStatus, error) {
	for {
		job, err := l.client.BatchV1().Jobs(podsNamespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return batchv1.JobStatus{}, err
		}
		for _, c := range job.Status.Conditions {
			switch {
			case c.Status != corev1.ConditionTrue:
			case c.Type == batchv1.JobFailed:
				return job.Status, fmt.Errorf("the Job failed: %s", c.Message)
			case c.Type == batchv1.JobComplete:
				if u := job.Status.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
					return job.Status, errors.New("the Job is complete but has uncounted Pods")
				}
				return job.Status, nil
			}
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return batchv1.JobStatus{}, fmt.Errorf("%d of %d Pods have succeeded: %w", job.Status.Succeeded, l.size.completions, err)
		}
	}
}
