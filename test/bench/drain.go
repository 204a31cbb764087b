// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// workers is the number of DELETE requests in flight, for the bare loop and for Sunset.
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

// drainRun is the result of draining one backlog.
type drainRun struct {
	took  time.Duration
	calls float64       // API calls for each deletion
	p99   time.Duration // latency of another client during the drain
	cpu   time.Duration // of Sunset; 0 without it
	peak  int64         // most resident memory of Sunset; 0 without it
	lists float64       // listings of Jobs for each deletion

	writes int           // writes of the ledger
	server time.Duration // CPU of the API server and etcd
	store  time.Duration // CPU of the object store; 0 without it
}

// used returns the CPU of all processes.
func (r drainRun) used() time.Duration { return r.cpu + r.server + r.store }

// drains measures the same backlog in turns: with bare DELETE requests, with a watch beside them whose events are
// discarded, and with Sunset. The median round is reported. A bystander sends requests during each round.
func (l *environment) drains(ctx context.Context) error {
	quiet, err := l.bystander(ctx, func(ctx context.Context) error { return pause(ctx, l.size.idle/2) })
	if err != nil {
		return err
	}
	runs, err := l.inTurns(ctx, l.drainBare, l.drainSeen, l.drainWithSunset)
	if err != nil {
		return err
	}
	l.addDrains(quiet, runs[0], runs[1], runs[2])
	return nil
}

func (l *environment) addDrains(quiet time.Duration, bare, seen, sunset []drainRun) {
	n := l.size.drain
	took := func(r drainRun) time.Duration { return r.took }
	p99 := func(r drainRun) time.Duration { return r.p99 }
	calls := func(r drainRun) float64 { return r.calls }
	share := func(of []drainRun) float64 { return 100 * median(bare, took).Seconds() / median(of, took).Seconds() }
	l.table.add(fmt.Sprintf("bare DELETE with preconditions, %d workers, %d Jobs", workers, n), perSecond(n, median(bare, took)), "the limit of this run; rounds: "+rates(n, bare))
	l.table.add("the same with a watch of Jobs beside it", perSecond(n, median(seen, took)), fmt.Sprintf("%.0f %% of the limit; rounds: %s", share(seen), rates(n, seen)))
	l.table.add(fmt.Sprintf("Sunset, %d Jobs due", n), perSecond(n, median(sunset, took)), fmt.Sprintf("%.0f %% of the limit; rounds: %s", share(sunset), rates(n, sunset)))
	l.table.add("Sunset, API calls for each deletion", fmt.Sprintf("%.3f", median(sunset, calls)), fmt.Sprintf("bare %.3f", median(bare, calls)))
	own := median(sunset, func(r drainRun) time.Duration { return r.cpu })
	l.table.add("Sunset, its own CPU for each deletion", fmt.Sprintf("%.2f ms", float64(own)/float64(n)/1e6), "the watch's DELETED events included")
	l.table.add("p99 of other clients while Sunset deletes a backlog", milliseconds(median(sunset, p99)),
		fmt.Sprintf("with bare DELETE %s, idle %s", milliseconds(median(bare, p99)), milliseconds(quiet)))
}

// inTurns drains the backlog in each way once in each round, and returns the runs of each way. The order changes, because the API server
// slows down as its history grows. If there are twice as many rounds as ways, each way comes before each other one in half of them.
func (l *environment) inTurns(ctx context.Context, ways ...func(context.Context) (drainRun, error)) ([][]drainRun, error) {
	runs := make([][]drainRun, len(ways))
	for round := range l.size.rounds {
		for i := range ways {
			way := (round + i) % len(ways)
			if round/len(ways)%2 == 1 {
				way = len(ways) - 1 - way
			}
			run, err := ways[way](ctx)
			if err != nil {
				return nil, err
			}
			runs[way] = append(runs[way], run)
		}
	}
	return runs, nil
}

// median returns the median of a figure over all rounds.
func median[T int | int64 | float64 | time.Duration](runs []drainRun, figure func(drainRun) T) T {
	var values []T
	for _, r := range runs {
		values = append(values, figure(r))
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// drain measures how work drains the backlog of a namespace.
func (l *environment) drain(ctx context.Context, namespace string, work func(context.Context) error) (drainRun, error) {
	before, err := countRequests(ctx, l.client)
	if err != nil {
		return drainRun{}, err
	}
	own := l.listings.Load()
	var run drainRun
	if err := l.addUsed(&run, -1); err != nil {
		return drainRun{}, err
	}
	run.p99, err = l.bystander(ctx, func(ctx context.Context) error {
		began := time.Now()
		if err := work(ctx); err != nil {
			return err
		}
		var err error
		run.took, err = drained(ctx, l.client, namespace, began)
		return err
	})
	if err != nil {
		return drainRun{}, err
	}
	if err := l.addUsed(&run, 1); err != nil {
		return drainRun{}, err
	}
	after, err := countRequests(ctx, l.client)
	run.calls = float64(after.since(before, ofDeletion)) / float64(l.size.drain)
	lists := after.since(before, func(key string) bool { return key == "LIST jobs" })
	run.lists = float64(lists-int(l.listings.Load()-own)) / float64(l.size.drain)
	run.writes = after.since(before, func(key string) bool { return key == "PUT retentionledgers" })
	return run, err
}

// addUsed adds the CPU that the other processes have used since they started, times factor.
func (l *environment) addUsed(run *drainRun, factor time.Duration) error {
	for pid, to := range map[int]*time.Duration{l.plane.PID(cluster.APIServer): &run.server, l.plane.PID(cluster.Etcd): &run.server, l.store: &run.store} {
		if pid == 0 {
			continue
		}
		used, err := cpu(pid)
		if err != nil {
			return err
		}
		*to += factor * used
	}
	return nil
}

// backlog creates the Jobs to drain.
func (l *environment) backlog(ctx context.Context, namespace string) error {
	return l.create(ctx, batch{namespace: namespace, prefix: "job", count: l.size.drain, finished: anHourAgo})
}

// drainBare is the raw limit: for each Job of a list it sends only the DELETE with preconditions that Sunset sends.
func (l *environment) drainBare(ctx context.Context) (drainRun, error) {
	list, err := l.listBacklog(ctx, "bare")
	if err != nil {
		return drainRun{}, err
	}
	return l.drain(ctx, "bare", func(ctx context.Context) error { return l.deleteAll(ctx, list.Items) })
}

// drainSeen is the limit for a client that watches Jobs: the API server also sends every event to a watch, and this client
// discards them.
func (l *environment) drainSeen(ctx context.Context) (drainRun, error) {
	list, err := l.listBacklog(ctx, "seen")
	if err != nil {
		return drainRun{}, err
	}
	watch, err := l.client.BatchV1().RESTClient().Get().Resource("jobs").Param("watch", "true").Param("resourceVersion", list.ResourceVersion).
		SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return drainRun{}, err
	}
	defer func() { _ = watch.Close() }()
	told := make(chan error, 1)
	go func() { told <- skipLines(watch, l.size.drain) }()
	run, err := l.drain(ctx, "seen", func(ctx context.Context) error { return l.deleteAll(ctx, list.Items) })
	if err != nil {
		return drainRun{}, err
	}
	select {
	case err := <-told:
		return run, err
	case <-time.After(time.Minute):
		return drainRun{}, errors.New("the watch did not report every deletion")
	}
}

// skipLines reads n lines, each of which is an event of a watch.
func skipLines(from io.Reader, n int) error {
	lines := bufio.NewReader(from)
	for seen := 0; seen < n; {
		switch _, err := lines.ReadSlice('\n'); {
		case err == nil:
			seen++
		case !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("the API server closed the watch after %d of %d events: %w", seen, n, err)
		}
	}
	return nil
}

func (l *environment) listBacklog(ctx context.Context, namespace string) (*batchv1.JobList, error) {
	if err := l.backlog(ctx, namespace); err != nil {
		return nil, err
	}
	return l.client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{})
}

func (l *environment) deleteAll(ctx context.Context, jobs []batchv1.Job) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	background := metav1.DeletePropagationBackground
	for i := range jobs {
		job := &jobs[i]
		group.Go(func() error {
			return l.client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
				PropagationPolicy: &background,
				Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion},
			})
		})
	}
	return group.Wait()
}

func (l *environment) drainWithSunset(ctx context.Context) (drainRun, error) {
	return l.drainBy(ctx, drainPolicy)
}

// drainBy first applies a dry run of the policy, so that Sunset knows the backlog and only draining is measured. If the
// policy keeps a ledger, the ledger exists by then too.
func (l *environment) drainBy(ctx context.Context, spec string) (drainRun, error) {
	sunset, err := l.startSunset()
	if err != nil {
		return drainRun{}, err
	}
	defer sunset.stop()
	if _, err := l.apply(ctx, "drain", fmt.Sprintf(spec, "drain")); err != nil {
		return drainRun{}, err
	}
	defer func() { _ = l.remove(context.WithoutCancel(ctx), "drain") }()
	if strings.Contains(spec, "outcome:") || strings.Contains(spec, "archive:") {
		if err := l.beginLedger(ctx, "drain"); err != nil {
			return drainRun{}, err
		}
	}
	if err := l.backlog(ctx, "drain"); err != nil {
		return drainRun{}, err
	}
	if err := l.matched(ctx, "drain", l.size.drain); err != nil {
		return drainRun{}, err
	}
	before, err := cpu(sunset.pid())
	if err != nil {
		return drainRun{}, err
	}
	run, err := l.drain(ctx, "drain", func(ctx context.Context) error {
		return l.edit(ctx, "drain", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	})
	if err != nil {
		return drainRun{}, err
	}
	after, err := cpu(sunset.pid())
	if err != nil {
		return drainRun{}, err
	}
	run.cpu = after - before
	_, run.peak, err = memory(sunset.pid())
	return run, err
}
