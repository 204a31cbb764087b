package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// workers is how many DELETE requests are under way at a time, for the bare loop as for Sunset.
const workers = 16

const drainPolicy = `
  mode: DryRun
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 0s
`

// drainRun is how a backlog went.
type drainRun struct {
	took  time.Duration
	calls float64 // API calls for each deletion
	p99   time.Duration
}

// drains measures the same backlog with nothing but DELETE requests, and with Sunset; a bystander's requests beside each.
func (l *lab) drains(ctx context.Context) error {
	quiet, err := l.bystander(ctx, func(ctx context.Context) error { return pause(ctx, l.size.idle/2) })
	if err != nil {
		return err
	}
	bare, err := l.drain(ctx, "bare", l.deleteAll)
	if err != nil {
		return err
	}
	sunset, err := l.drainWithSunset(ctx)
	if err != nil {
		return err
	}
	n := l.size.drain
	l.table.add(fmt.Sprintf("bare fenced DELETE, %d workers, %d Jobs", workers, n), perSecond(n, bare.took), "the limit of this run")
	l.table.add(fmt.Sprintf("Sunset, %d Jobs due", n), perSecond(n, sunset.took), fmt.Sprintf("%.0f %% of the limit", 100*bare.took.Seconds()/sunset.took.Seconds()))
	l.table.add("Sunset, API calls for each deletion", fmt.Sprintf("%.3f", sunset.calls), fmt.Sprintf("bare %.3f", bare.calls))
	l.table.add("others' p99 while Sunset drains", milliseconds(sunset.p99), fmt.Sprintf("while bare DELETE drains %s, idle %s", milliseconds(bare.p99), milliseconds(quiet)))
	return nil
}

// drain creates a backlog and measures how it is drained.
func (l *lab) drain(ctx context.Context, namespace string, work func(context.Context, string) error) (drainRun, error) {
	past := func(int) time.Time { return time.Now().Add(-time.Hour) }
	if err := (batch{namespace: namespace, prefix: "job", count: l.size.drain, finished: past}).create(ctx, l.client); err != nil {
		return drainRun{}, err
	}
	return l.measureDrain(ctx, namespace, l.size.drain, work)
}

func (l *lab) measureDrain(ctx context.Context, namespace string, n int, work func(context.Context, string) error) (drainRun, error) {
	before, err := countRequests(ctx, l.client)
	if err != nil {
		return drainRun{}, err
	}
	var run drainRun
	run.p99, err = l.bystander(ctx, func(ctx context.Context) error {
		began := time.Now()
		if err := work(ctx, namespace); err != nil {
			return err
		}
		_, err := drained(ctx, l.client, namespace, began)
		run.took = time.Since(began)
		return err
	})
	if err != nil {
		return drainRun{}, err
	}
	after, err := countRequests(ctx, l.client)
	run.calls = float64(after.since(before, ofDeletion)) / float64(n)
	return run, err
}

// deleteAll is the raw limit: the same fenced DELETE that Sunset sends, and nothing else.
func (l *lab) deleteAll(ctx context.Context, namespace string) error {
	list, err := l.client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	background := metav1.DeletePropagationBackground
	for i := range list.Items {
		job := &list.Items[i]
		group.Go(func() error {
			return l.client.BatchV1().Jobs(namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
				PropagationPolicy: &background,
				Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion},
			})
		})
	}
	return group.Wait()
}

// drainWithSunset lets Sunset see the backlog in a dry run first, so that only draining is measured.
func (l *lab) drainWithSunset(ctx context.Context) (drainRun, error) {
	sunset, err := l.startSunset()
	if err != nil {
		return drainRun{}, err
	}
	defer sunset.stop()
	if _, err := l.apply(ctx, "drain", fmt.Sprintf(drainPolicy, "drain")); err != nil {
		return drainRun{}, err
	}
	defer func() { _ = l.remove(context.WithoutCancel(ctx), "drain") }()
	run, err := l.drain(ctx, "drain", func(ctx context.Context, _ string) error {
		if err := l.matched(ctx, "drain", l.size.drain); err != nil {
			return err
		}
		return l.edit(ctx, "drain", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	})
	if err != nil {
		return drainRun{}, err
	}
	used, err := cpu(sunset.pid())
	l.table.add("Sunset, its own CPU for each deletion, watching included", fmt.Sprintf("%.2f ms", float64(used)/float64(l.size.drain)/1e6), "")
	return run, err
}
