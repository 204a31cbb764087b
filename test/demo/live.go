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
	livePhase = "live: a Job now and then"
	// another is how long it is from one Job to the next.
	another = 5 * time.Second
)

// live goes on creating Jobs until the user or trouble ends it.
func (d *demo) live(ctx context.Context) error {
	trouble := make(chan error, 1)
	go func() { trouble <- d.createForever(ctx) }()
	return d.until(ctx, livePhase, math.MaxInt64, func(frame) error {
		select {
		case err := <-trouble:
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

// encore is the i-th Job after the scenario.
func encore(i int) plan {
	p := plan{namespace: shop, name: fmt.Sprintf("order-%d", i), outcome: cluster.Succeeded, runs: time.Duration(1+i%4) * time.Second}
	if i%3 == 0 {
		p.outcome = cluster.Failed
	}
	return p
}

// help says how to look into the cluster from elsewhere.
func help(kubeconfig string) []string {
	return []string{
		"Elsewhere:  export KUBECONFIG=" + kubeconfig,
		"  kubectl get cret batch -o yaml                            # all that Sunset tells",
		"  kubectl edit cret batch                                   # change a TTL or mode",
		"  kubectl -n shop annotate job NAME sunset.x-k8s.io/hold=   # keep a Job",
		"  kubectl -n shop create -f test/demo/job.yaml              # one more Job",
		"Ctrl-C ends everything.",
	}
}
