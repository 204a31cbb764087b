// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// ledgerFields give a policy whose last lines are a rule a ledger: an outcome, and limits that are never reached.
const ledgerFields = `    outcome: "succeeded(object) ? 'Succeeded' : 'Failed'"
  limits: {maxDeletions: 10000000, window: 1h}
`

// ledger measures the cost of exact counts: the drain of a backlog and scheduled deletions, with and without a ledger.
func (l *environment) ledger(ctx context.Context) error {
	if err := l.ledgerDrains(ctx); err != nil {
		return err
	}
	return l.besideStanding(ctx, l.ledgerLateness)
}

// besideStanding runs a measurement while Sunset watches many objects that are not due.
func (l *environment) besideStanding(ctx context.Context, measure func(context.Context) error) error {
	if err := l.stand(ctx); err != nil {
		return err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return err
	}
	defer sunset.stop()
	if err := l.observed(ctx, "standing"); err != nil {
		return err
	}
	return measure(ctx)
}

// ledgerDrains lets Sunset drain the same backlog with and without a ledger, in turns.
func (l *environment) ledgerDrains(ctx context.Context) error {
	runs, err := l.drainsBeside(ctx, "", ledgerFields)
	if err != nil {
		return err
	}
	plain, counted, n := runs[0], runs[1], l.size.drain
	took := func(r drainRun) time.Duration { return r.took }
	calls := func(r drainRun) float64 { return r.calls }
	own := func(r drainRun) time.Duration { return r.cpu }
	l.table.add(fmt.Sprintf("Sunset with a ledger, %d Jobs due", n), perSecond(n, median(counted, took)),
		fmt.Sprintf("%d %% of without, in the median round; rounds: %s, without: %s", shareOf(plain, counted), rates(n, counted), rates(n, plain)))
	l.table.add("with a ledger, API calls for each deletion", fmt.Sprintf("%.3f", median(counted, calls)), fmt.Sprintf("without %.3f", median(plain, calls)))
	writes := func(r drainRun) float64 { return float64(r.writes) / r.took.Seconds() }
	l.table.add("writes of the ledger while it drains", fmt.Sprintf("%.1f/s", median(counted, writes)),
		fmt.Sprintf("one for %.0f deletions", perWrite(n, counted)))
	l.table.add("with a ledger, Sunset's CPU for each deletion", fmt.Sprintf("%.2f ms", float64(median(counted, own))/float64(n)/1e6),
		fmt.Sprintf("without %.2f ms", float64(median(plain, own))/float64(n)/1e6))
	return nil
}

// perWrite returns for how many of n deletions a ledger is written once.
func perWrite(n int, runs []drainRun) float64 {
	return float64(n) / median(runs, func(r drainRun) float64 { return float64(max(r.writes, 1)) })
}

// drainsBeside lets Sunset drain the same backlog by policies with these fields more, in turns. It returns the runs of each.
func (l *environment) drainsBeside(ctx context.Context, fields ...string) ([][]drainRun, error) {
	var ways []func(context.Context) (drainRun, error)
	for _, more := range fields {
		ways = append(ways, func(ctx context.Context) (drainRun, error) { return l.drainBy(ctx, drainPolicy+more) })
	}
	return l.inTurns(ctx, ways...)
}

// shareOf returns the rate of drains in percent of that of plain ones, in the median round. The machine's speed differs between rounds,
// so that it compares the two runs of one round.
func shareOf(plain, with []drainRun) int {
	var shares []drainRun
	for i := range plain {
		shares = append(shares, drainRun{took: plain[i].took * 100 / with[i].took})
	}
	return int(median(shares, func(r drainRun) time.Duration { return r.took }))
}

// rates formats the rate of each run.
func rates(n int, runs []drainRun) string {
	var texts []string
	for _, r := range runs {
		texts = append(texts, perSecond(n, r.took))
	}
	return strings.Join(texts, ", ")
}

// beginLedger enforces a policy that has no due objects yet until its ledger exists, then sets it back to a dry run.
func (l *environment) beginLedger(ctx context.Context, name string) error {
	mode := func(m v1alpha1.Mode) error {
		return l.edit(ctx, name, func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = m })
	}
	if err := mode(v1alpha1.Enforce); err != nil {
		return err
	}
	if err := l.recorded(ctx, name); err != nil {
		return err
	}
	return mode(v1alpha1.DryRun)
}

// recorded waits until the status of a policy names its ledger.
func (l *environment) recorded(ctx context.Context, name string) error {
	return l.until(ctx, name, "has a ledger", func(p *v1alpha1.ClusterRetentionPolicy) bool { return p.Status.Ledger != nil })
}

func (l *environment) ledgerLateness(ctx context.Context) error {
	plain, counted, err := l.latenessBeside(ctx, "counted", ledgerFields)
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("with a ledger, lateness at 100 due a second, %d watched", l.size.standing), waits(counted).text(),
		"at the same time 100 a second without: "+waits(plain).text())
	return nil
}

// latenessBeside makes Jobs due under a plain policy and under one with more fields, which give it a ledger, at the same time, so that
// the load of the machine affects both equally.
func (l *environment) latenessBeside(ctx context.Context, name, fields string) (plain, with []time.Duration, err error) {
	ways := []struct{ namespace, fields string }{{"lateness", ""}, {name, fields}}
	late := make([][]time.Duration, len(ways))
	for _, w := range ways {
		if _, err := l.apply(ctx, w.namespace, fmt.Sprintf(latenessPolicy, w.namespace)+w.fields); err != nil {
			return nil, nil, err
		}
		defer func() { _ = l.remove(context.WithoutCancel(ctx), w.namespace) }()
	}
	if err := l.recorded(ctx, name); err != nil {
		return nil, nil, err
	}
	group, gctx := errgroup.WithContext(ctx)
	for i, w := range ways {
		group.Go(func() (err error) {
			late[i], err = l.lateBy(gctx, dueJobs{namespace: w.namespace, n: l.size.lateness, every: dueEvery, ahead: l.size.ahead})
			return err
		})
	}
	err = group.Wait()
	return late[0], late[1], err
}
