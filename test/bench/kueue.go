// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// kueuePolicy deletes finished Workloads immediately.
const kueuePolicy = `
  mode: Enforce
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kueue-backlog}}
  rules:
  - name: workloads
    target: {apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 0s
`

const (
	// admitEvery is the pause between two Jobs for Kueue: their writes stay well below the 50 requests a second that
	// Kueue's manifest allows.
	admitEvery = 300 * time.Millisecond
	// kueueDueEvery is the pause between Jobs of another rule that become due while Workloads are deleted.
	kueueDueEvery = 100 * time.Millisecond
)

// kueue measures how long Jobs wait until a real Kueue, configured as in its manifest, admits them beside a backlog of
// finished Workloads: without deletions, while Kueue deletes the Workloads, and while Sunset deletes them.
func (l *environment) kueue(ctx context.Context) error {
	if err := l.kueueBacklog(ctx); err != nil {
		return err
	}
	quiet, err := l.admissionsFor(ctx, l.size.kueueFor)
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("Kueue admits a Job, %d finished Workloads beside it", l.size.kueue), quiet.text(), fmt.Sprintf("the baseline; %d Jobs", len(quiet)))
	if err := l.kueueDeletes(ctx, quiet); err != nil {
		return err
	}
	return l.sunsetDeletes(ctx, quiet)
}

// kueueDeletes lets Kueue's own garbage collection run for a while: the whole backlog would take very long.
func (l *environment) kueueDeletes(ctx context.Context, quiet waits) error {
	if err := l.plane.StartKueue(ctx, cluster.KueueOptions{Configuration: "objectRetentionPolicies: {workloads: {afterFinished: 0s}}"}); err != nil {
		return err
	}
	before, err := l.workloadsGone(ctx, l.size.kueue)
	if err != nil {
		return err
	}
	began := time.Now()
	busy, err := l.admissionsFor(ctx, l.size.kueueFor)
	if err != nil {
		return err
	}
	left, err := l.workloadsGone(ctx, before)
	if err != nil {
		return err
	}
	took := time.Since(began)
	l.table.add("the same while Kueue deletes them (afterFinished: 0s)", busy.text(), fmt.Sprintf("%s; %s while measured", busy.beside(quiet), perSecond(before-left, took)))
	if err := l.plane.StartKueue(ctx, cluster.KueueOptions{}); err != nil {
		return err
	}
	return l.settle(ctx)
}

// sunsetDeletes starts Sunset beside the backlog and lets it delete all Workloads while Jobs of another rule become due.
func (l *environment) sunsetDeletes(ctx context.Context, quiet waits) error {
	for name, policy := range map[string]string{"kueue": kueuePolicy, "lateness": fmt.Sprintf(latenessPolicy, "lateness")} {
		if _, err := l.apply(ctx, name, policy); err != nil {
			return err
		}
		defer func() { _ = l.remove(context.WithoutCancel(ctx), name) }()
	}
	n, err := l.workloadsLeft(ctx)
	if err != nil {
		return err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return err
	}
	defer sunset.stop()
	run, err := l.kueueDrain(ctx, n)
	if err != nil {
		return err
	}
	after, err := l.lateBy(ctx, l.kueueDue())
	if err != nil {
		return err
	}
	l.table.add("the same while Sunset deletes them", run.admitted.text(),
		fmt.Sprintf("%s; %d Jobs; %d Workloads in %s from Sunset's start, %s once it deletes", run.admitted.beside(quiet), len(run.admitted), n, run.took.Round(100*time.Millisecond), perSecond(n, run.drained)))
	l.table.add("Sunset, lateness of another rule during the drain", waits(run.late).text(), "after the drain "+waits(after).text())
	return nil
}

// kueueRun is the result of draining a backlog of Workloads.
type kueueRun struct {
	took, drained time.Duration // since the start of Sunset, and since the first deletion
	admitted      waits
	late          []time.Duration
}

// kueueDue returns the Jobs of the other rule.
func (l *environment) kueueDue() dueJobs {
	return dueJobs{namespace: "lateness", n: l.size.kueueDue, every: kueueDueEvery, ahead: l.size.kueueAhead}
}

// kueueDrain waits until the backlog is gone. Kueue admits Jobs during the whole drain; Jobs of another rule become due
// once deletions have begun.
func (l *environment) kueueDrain(ctx context.Context, n int) (run kueueRun, err error) {
	began := time.Now()
	done := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		run.admitted, err = l.admissions(ctx, done)
		return err
	})
	group.Go(func() (err error) {
		defer close(done)
		if _, err := l.workloadsGone(ctx, n); err != nil {
			return err
		}
		first := time.Now()
		group.Go(func() (err error) {
			run.late, err = l.lateBy(ctx, l.kueueDue())
			return err
		})
		err = untilNone(ctx, l.workloadsLeft)
		run.took, run.drained = time.Since(began), time.Since(first)
		return err
	})
	return run, group.Wait()
}

// settle waits until a newly started Kueue has read the existing objects and admits Jobs.
func (l *environment) settle(ctx context.Context) error {
	if _, err := l.admissionsFor(ctx, l.size.kueueFor/2); err != nil {
		return err
	}
	return pause(ctx, l.size.idle/3)
}
