// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// dueEvery is the interval between due times: 100 a second.
const dueEvery = 10 * time.Millisecond

const latenessPolicy = `
  mode: Enforce
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {due: "true"}}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttlExpression: duration(object.metadata.annotations['example.com/ttl'])
`

// lateness measures how long after their due time Jobs are deleted: undisturbed, and while the TTL of a policy is edited every
// second. It ends when the DELETED event arrives at a separate watch.
func (l *environment) lateness(ctx context.Context) error {
	for name, spec := range map[string]string{"lateness": fmt.Sprintf(latenessPolicy, "lateness"), "beside": fmt.Sprintf(drainPolicy, "beside")} {
		if _, err := l.apply(ctx, name, spec); err != nil {
			return err
		}
		defer func() { _ = l.remove(context.WithoutCancel(ctx), name) }()
		if err := l.enforcing(ctx, name); err != nil { // the kind is listed again for it, which takes as long as at the start
			return err
		}
	}
	for _, edited := range []struct{ policy, what, beside string }{
		{"", "", "from due to the DELETED event at another client"},
		{"beside", ", a policy edited every second", "a policy that selects no objects"},
		{"standing", ", a policy edited every second", "the policy that selects all of them"},
	} {
		late, err := l.lateWhileEdited(ctx, edited.policy, dueJobs{namespace: "lateness", prefix: "job" + edited.policy, n: l.size.lateness, every: dueEvery, ahead: l.size.ahead})
		if err != nil {
			return err
		}
		l.table.add(fmt.Sprintf("Sunset, lateness at 100 due a second, %d watched%s", l.size.standing, edited.what), waits(late).text(), edited.beside)
	}
	return nil
}

// lateWhileEdited is lateBy while the TTL of a policy is edited every second; empty for none.
func (l *environment) lateWhileEdited(ctx context.Context, policy string, jobs dueJobs) (late []time.Duration, err error) {
	due, w, err := l.createDue(ctx, jobs)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	group, gctx := errgroup.WithContext(ctx)
	ended := make(chan struct{})
	group.Go(func() (err error) {
		defer close(ended)
		late, err = watchDeletions(gctx, w, due)
		return err
	})
	group.Go(func() error {
		for i := 0; policy != ""; i++ {
			if err := l.edit(gctx, policy, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL = fmt.Sprintf("%dd", 30+i%2) }); err != nil {
				return err
			}
			select {
			case <-ended:
				return nil
			case <-gctx.Done():
				return gctx.Err()
			case <-time.After(time.Second):
			}
		}
		return nil
	})
	err = group.Wait()
	return late, err
}

// dueJobs are Jobs that become due one after the other.
type dueJobs struct {
	namespace string
	prefix    string // of their names; empty means "job"
	n         int
	every     time.Duration
	ahead     time.Duration // how long after the start of their creation the first is due
}

// lateBy creates Jobs that become due and returns how late each is deleted.
func (l *environment) lateBy(ctx context.Context, jobs dueJobs) ([]time.Duration, error) {
	due, w, err := l.createDue(ctx, jobs)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	return watchDeletions(ctx, w, due)
}

// createDue creates finished Jobs that become due one after the other. It returns the due times and a watch that began before the first.
// If the machine is too busy for that, it deletes the Jobs and creates others, twice as long before they are due.
func (l *environment) createDue(ctx context.Context, jobs dueJobs) (map[string]time.Time, watch.Interface, error) {
	if err := ensureNamespace(ctx, l.client, jobs.namespace); err != nil {
		return nil, nil, err
	}
	jobs.prefix = cmp.Or(jobs.prefix, "job")
	for ; ; jobs.ahead, jobs.prefix = 2*jobs.ahead, jobs.prefix+"x" {
		first := time.Now().Add(jobs.ahead)
		due, err := l.createDueAt(ctx, jobs, first)
		if err != nil {
			return nil, nil, err
		}
		w, err := l.client.BatchV1().Jobs(jobs.namespace).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, nil, err
		}
		late := time.Since(first)
		if late <= 0 {
			return due, w, nil
		}
		w.Stop()
		fmt.Fprintf(os.Stderr, "  Jobs existed %s after the first was due; others are created\n", late)
		background := metav1.DeletePropagationBackground
		if err := l.client.BatchV1().Jobs(jobs.namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background},
			metav1.ListOptions{LabelSelector: "due=true"}); err != nil {
			return nil, nil, err
		}
	}
}

// createDueAt creates the Jobs, the first of which is due at a time, and returns the due times.
func (l *environment) createDueAt(ctx context.Context, jobs dueJobs, first time.Time) (map[string]time.Time, error) {
	due := make(map[string]time.Time, jobs.n)
	b := batch{namespace: jobs.namespace, prefix: jobs.prefix, count: jobs.n, labels: map[string]string{"due": "true"}}
	finished := first.Truncate(time.Second) // after all creations: a TTL never starts before the object's creation
	b.finished = func(int) time.Time { return finished }
	b.ttlOf = func(i int) time.Duration {
		at := first.Add(time.Duration(i) * jobs.every)
		return at.Sub(finished)
	}
	for i := range jobs.n {
		due[b.name(i)] = first.Add(time.Duration(i) * jobs.every)
	}
	return due, l.create(ctx, b)
}

// watchDeletions waits until a watch has reported that all Jobs are gone, and returns how late each deletion was.
func watchDeletions(ctx context.Context, w watch.Interface, due map[string]time.Time) ([]time.Duration, error) {
	late := make([]time.Duration, 0, len(due))
	for len(late) < len(due) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case event, ok := <-w.ResultChan():
			if !ok {
				return nil, fmt.Errorf("the watch ended after %d of %d deletions", len(late), len(due))
			}
			if job, isJob := event.Object.(*batchv1.Job); isJob && event.Type == watch.Deleted {
				late = append(late, time.Since(due[job.Name]))
			}
		}
	}
	return late, nil
}

// redecide measures an edit of the TTL of all standing Jobs. The same edit makes one of them, with its own rule, due.
// Sunset deletes it after evaluating all Jobs again.
func (l *environment) redecide(ctx context.Context) error {
	now := time.Now()
	marker := batch{namespace: "standing", prefix: "marker", count: 1, finished: func(int) time.Time { return now }, labels: map[string]string{"marker": "true"}}
	if err := l.create(ctx, marker); err != nil {
		return err
	}
	if err := l.matched(ctx, "standing", l.size.standing+1); err != nil {
		return err
	}
	before, err := countRequests(ctx, l.client)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := l.edit(ctx, "standing", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[0].TTL, s.Rules[1].TTL = "20d", "0s" }); err != nil {
		return err
	}
	for {
		if _, err := l.client.BatchV1().Jobs("standing").Get(ctx, marker.name(0), metav1.GetOptions{}); client.IgnoreNotFound(err) != nil {
			return err
		} else if err != nil {
			break
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	took := time.Since(began)
	after, err := countRequests(ctx, l.client)
	if err != nil {
		return err
	}
	lists := after.since(before, func(key string) bool { return strings.HasSuffix(key, " jobs") && strings.Contains(key, "LIST") })
	l.table.add(fmt.Sprintf("Sunset, %d evaluated again after a TTL edit, and the one due Job deleted", l.size.standing), milliseconds(took), fmt.Sprintf("%d listings", lists))
	return nil
}
