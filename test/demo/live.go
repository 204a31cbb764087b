// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sunset-k8s/sunset/test/cluster"
)

const (
	livePhase = "live: a new Job every few seconds"
	// another is the interval between two Jobs.
	another = 5 * time.Second
)

// live creates Jobs until the user stops the demo or an error occurs.
func (d *demo) live(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- d.createForever(ctx) }()
	return d.until(ctx, livePhase, math.MaxInt64, func(frame) error {
		select {
		case err := <-failed:
			d.stop(err)
		default:
		}
		return errors.New("there is more to see")
	})
}

func (d *demo) createForever(ctx context.Context) error {
	for i := 1; ; i++ {
		if err := d.create(ctx, encore(i), i); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(another):
		}
	}
}

// encore returns the i-th Job after the scenario.
func encore(i int) plan {
	p := plan{namespace: shop, name: fmt.Sprintf("order-%d", i), outcome: cluster.Succeeded, runs: time.Duration(1+i%4) * time.Second}
	if i%3 == 0 {
		p.outcome = cluster.Failed
	}
	return p
}

// help explains how to inspect the cluster from another terminal.
func help(kubeconfig, log string) []string {
	return []string{
		"In another terminal:",
		"  export KUBECONFIG=" + kubeconfig,
		"  LOG=" + log,
		"  kubectl get cret batch -o yaml                         # the whole status",
		"  kubectl edit cret batch                                # change a TTL",
		"  kubectl -n shop annotate job NAME sunset-k8s.io/hold=  # keep a Job",
		"  kubectl -n shop create -f test/demo/job.yaml           # create a Job",
		"  kubectl sunset archive ls -n shop                      # the failed Jobs",
		"  kubectl sunset who job/NAME -n shop -f $LOG            # which rule deleted a Job",
		"Ctrl-C stops everything.",
	}
}
