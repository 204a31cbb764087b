package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
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

// podsRun is how one Job of many Pods went.
type podsRun struct {
	status batchv1.JobStatus
	took   time.Duration // until the Job was complete
	more   time.Duration // until then the last Pod was gone as well; 0 without Sunset
	pods   podCounts
	api    footprint     // of the API server
	kcm    footprint     // of kube-controller-manager
	others time.Duration // CPU of etcd and of the fake node
	sunset footprint
}

// footprint is what a process has taken.
type footprint struct {
	peak int64 // of its resident memory
	cpu  time.Duration
}

func footprintOf(pid int) (f footprint, err error) {
	if _, f.peak, err = memory(pid); err != nil {
		return f, err
	}
	f.cpu, err = cpu(pid)
	return f, err
}

// pods measures a real Job whose Pods fake nodes complete, with and without Sunset, each on a control plane of its own.
func (l *lab) pods(ctx context.Context) error {
	bare, err := l.podsOn(ctx, (*lab).runJob)
	if err != nil {
		return fmt.Errorf("without Sunset: %w", err)
	}
	fmt.Fprintf(os.Stderr, "  without Sunset: %s, %s, %s\n", l.perMinute(bare), peaks(bare), l.cost(bare)) // many Pods take long
	swept, err := l.podsOn(ctx, (*lab).runJobWithSunset)
	if err != nil {
		return fmt.Errorf("with Sunset: %w", err)
	}
	if b, s := counts(bare.status), counts(swept.status); b != s {
		return fmt.Errorf("the Job ended with %s without Sunset, and with %s with it", b, s)
	}
	l.addPods(bare, swept)
	return nil
}

func (l *lab) addPods(bare, swept podsRun) {
	n := l.size.completions
	l.table.add(fmt.Sprintf("a Job of %d completions, %d at a time", n, l.size.parallelism), l.perMinute(bare), peaks(bare))
	l.table.add("the same with Sunset", l.perMinute(swept), peaks(swept))
	l.table.add("CPU for each Pod", l.cost(bare), "with Sunset "+l.cost(swept))
	l.table.add("both ended with", counts(swept.status), fmt.Sprintf("Pods with a finalizer left: %d, and %d with Sunset", bare.pods.tracked, swept.pods.tracked))
	l.table.add("Sunset, from a Pod's being counted to its end",
		fmt.Sprintf("p50 %s, p99 %s", milliseconds(percentile(swept.pods.lags, .5)), milliseconds(percentile(swept.pods.lags, .99))),
		fmt.Sprintf("the last one went %s after the Job's end; %.2f ms of CPU for each, peak %s", milliseconds(swept.more),
			l.each(swept.sunset.cpu), megabytes(swept.sunset.peak)))
}

func (l *lab) perMinute(r podsRun) string {
	return fmt.Sprintf("%.0f/min in %s", 60*rate(l.size.completions, r.took), r.took.Round(100*time.Millisecond))
}

func peaks(r podsRun) string {
	return fmt.Sprintf("at most %d Pods there at a time, %d finished; peaks: API server %s, kube-controller-manager %s",
		r.pods.most, r.pods.mostFinished, megabytes(r.api.peak), megabytes(r.kcm.peak))
}

// cost is the CPU that a Pod took, where the time depends on who else is on the machine.
func (l *lab) cost(r podsRun) string {
	return fmt.Sprintf("API server %.1f ms, kube-controller-manager %.1f ms, etcd and fake node %.1f ms", l.each(r.api.cpu), l.each(r.kcm.cpu), l.each(r.others))
}

// each is the share of one Pod in milliseconds.
func (l *lab) each(d time.Duration) float64 { return 1000 * d.Seconds() / float64(l.size.completions) }

// counts is what must be the same.
func counts(s batchv1.JobStatus) string {
	parts := []string{fmt.Sprintf("%d succeeded", s.Succeeded), fmt.Sprintf("%d failed", s.Failed), "indexes " + s.CompletedIndexes}
	for _, c := range s.Conditions {
		parts = append(parts, string(c.Type))
	}
	return strings.Join(parts, ", ")
}

// podsOn runs something in a lab with fake nodes, a Job controller and a collector of finished Pods.
func (l *lab) podsOn(ctx context.Context, run func(*lab, context.Context) (podsRun, error)) (podsRun, error) {
	own, err := openLab(ctx, l.options, cluster.Options{
		Nodes:       1,
		Controllers: append(cluster.DefaultControllers(), "pod-garbage-collector-controller"),
		EtcdArgs:    []string{"--quota-backend-bytes=8000000000"},
	})
	if err != nil {
		return podsRun{}, err
	}
	defer own.close()
	config := own.plane.Config()
	config.ContentType = "application/vnd.kubernetes.protobuf" // as kube-controller-manager does: encoded once for both
	if own.client, err = kubernetes.NewForConfig(config); err != nil {
		return podsRun{}, err
	}
	if err := ensureNamespace(ctx, own.client, podsNamespace); err != nil {
		return podsRun{}, err
	}
	return run(own, ctx)
}

// runJobWithSunset is runJob beside Sunset.
func (l *lab) runJobWithSunset(ctx context.Context) (podsRun, error) {
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

// runJob runs one Job to its end. Its Pods stay, but for what the collector of finished Pods takes.
func (l *lab) runJob(ctx context.Context) (podsRun, error) {
	return l.measureJob(ctx, func(podCounts) bool { return true })
}

// measureJob runs one Job to its end, and waits until its Pods are as they should be then.
func (l *lab) measureJob(ctx context.Context, settled func(podCounts) bool) (run podsRun, err error) {
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

func (l *lab) addFootprints(run *podsRun) (err error) {
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

func (l *lab) bigJob() *batchv1.Job {
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

// jobEnd waits until a Job is complete. It looks twice a second, as the status of a big Job is long.
func (l *lab) jobEnd(ctx context.Context, name string) (batchv1.JobStatus, error) {
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
					return job.Status, errors.New("the Job is complete, and has Pods that are not counted")
				}
				return job.Status, nil
			}
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return batchv1.JobStatus{}, fmt.Errorf("%d of %d have succeeded: %w", job.Status.Succeeded, l.size.completions, err)
		}
	}
}

// enforcing waits until a policy is in force.
func (l *lab) enforcing(ctx context.Context, name string) error {
	for {
		p, err := l.get(ctx, name)
		if err != nil {
			return err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue {
				return nil
			}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("policy %s is not ready: %w", name, err)
		}
	}
}
