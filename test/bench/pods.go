// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// podsRun is the result of one Job with many Pods.
type podsRun struct {
	status batchv1.JobStatus
	took   time.Duration // until the Job was complete
	more   time.Duration // from then until the last Pod was deleted; 0 without Sunset
	pods   podCounts
	api    footprint     // of the API server
	kcm    footprint     // of kube-controller-manager
	others time.Duration // CPU of etcd and of the fake node
	sunset footprint
}

// footprint is the resources that a process has used.
type footprint struct {
	peak int64 // resident memory
	cpu  time.Duration
}

func footprintOf(pid int) (f footprint, err error) {
	if _, f.peak, err = memory(pid); err != nil {
		return f, err
	}
	f.cpu, err = cpu(pid)
	return f, err
}

// pods measures a real Job whose Pods fake nodes complete, with and without Sunset, each on its own control plane.
func (l *environment) pods(ctx context.Context) error {
	bare, err := l.podsOn(ctx, (*environment).runJob)
	if err != nil {
		return fmt.Errorf("without Sunset: %w", err)
	}
	fmt.Fprintf(os.Stderr, "  without Sunset: %s, %s, %s\n", l.perMinute(bare), peaks(bare), l.cost(bare)) // many Pods take a long time
	swept, err := l.podsOn(ctx, (*environment).runJobWithSunset)
	if err != nil {
		return fmt.Errorf("with Sunset: %w", err)
	}
	if b, s := counts(bare.status), counts(swept.status); b != s {
		return fmt.Errorf("the Job ended with %s without Sunset, and with %s with it", b, s)
	}
	l.addPods(bare, swept)
	return nil
}

func (l *environment) addPods(bare, swept podsRun) {
	n := l.size.completions
	l.table.add(fmt.Sprintf("a Job of %d completions, %d at a time", n, l.size.parallelism), l.perMinute(bare), peaks(bare))
	l.table.add("the same with Sunset", l.perMinute(swept), peaks(swept))
	l.table.add("CPU for each Pod", l.cost(bare), "with Sunset "+l.cost(swept))
	l.table.add("both ended with", counts(swept.status), fmt.Sprintf("Pods with a finalizer left: %d, and %d with Sunset", bare.pods.tracked, swept.pods.tracked))
	l.table.add("Sunset, from the removal of a Pod's finalizer to its deletion",
		waits(swept.pods.lags).text(),
		fmt.Sprintf("the last one deleted %s after the Job's end; %.2f ms of CPU for each, peak %s", milliseconds(swept.more),
			l.each(swept.sunset.cpu), megabytes(swept.sunset.peak)))
}

func (l *environment) perMinute(r podsRun) string {
	return fmt.Sprintf("%.0f/min in %s", 60*rate(l.size.completions, r.took), r.took.Round(100*time.Millisecond))
}

func peaks(r podsRun) string {
	return fmt.Sprintf("at most %d Pods at a time, %d finished; peaks: API server %s, kube-controller-manager %s",
		r.pods.most, r.pods.mostFinished, megabytes(r.api.peak), megabytes(r.kcm.peak))
}

// cost is the CPU time for each Pod, because elapsed time depends on the other load of the machine.
func (l *environment) cost(r podsRun) string {
	return fmt.Sprintf("API server %.1f ms, kube-controller-manager %.1f ms, etcd and fake node %.1f ms", l.each(r.api.cpu), l.each(r.kcm.cpu), l.each(r.others))
}

// each is the share of one Pod in milliseconds.
func (l *environment) each(d time.Duration) float64 {
	return 1000 * d.Seconds() / float64(l.size.completions)
}

// counts are the figures that must be the same with and without Sunset.
func counts(s batchv1.JobStatus) string {
	parts := []string{fmt.Sprintf("%d succeeded", s.Succeeded), fmt.Sprintf("%d failed", s.Failed), "indexes " + s.CompletedIndexes}
	for _, c := range s.Conditions {
		parts = append(parts, string(c.Type))
	}
	return strings.Join(parts, ", ")
}
