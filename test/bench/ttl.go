// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/utils/ptr"
)

// ttlController measures kube-controller-manager's TTL-after-finished controller, with the garbage collector that its
// Foreground deletions need, with default and with tuned settings.
func (l *environment) ttlController(ctx context.Context) error {
	tuned := []string{"--kube-api-qps=5000", "--kube-api-burst=5000", "--concurrent-ttl-after-finished-syncs=32", "--concurrent-gc-syncs=40"}
	for _, run := range []struct {
		name string
		n    int
		args []string
	}{{"as shipped", l.size.ttlDefault, nil}, {"tuned", l.size.ttlTuned, tuned}} {
		took, calls, err := l.ttlDrain(ctx, run.n, run.args)
		if err != nil {
			return fmt.Errorf("%s: %w", run.name, err)
		}
		l.table.add(fmt.Sprintf("TTL controller %s, %d Jobs due", run.name, run.n), perSecond(run.n, took), fmt.Sprintf("%.2f API calls for each deletion", calls))
	}
	return nil
}

// ttlDrain lets the controller drain a backlog that existed before its start.
func (l *environment) ttlDrain(ctx context.Context, n int, args []string) (took time.Duration, calls float64, err error) {
	jobs := batch{namespace: "ttl", prefix: "job", count: n, finished: anHourAgo, ttl: ptr.To[int32](0)}
	if err := l.create(ctx, jobs); err != nil {
		return 0, 0, err
	}
	before, err := countRequests(ctx, l.client)
	if err != nil {
		return 0, 0, err
	}
	kcm, err := l.startTTLController(args...)
	if err != nil {
		return 0, 0, err
	}
	defer kcm.stop()
	if err := l.firstGone(ctx, "ttl", n); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if took, err = drained(ctx, l.client, "ttl", began); err != nil {
		return 0, 0, err
	}
	after, err := countRequests(ctx, l.client)
	calls = float64(after.since(before, func(key string) bool {
		switch key {
		case "GET jobs", "DELETE jobs", "PUT jobs", "PATCH jobs", "POST events":
			return true
		}
		return false
	})) / float64(n)
	return took, calls, err
}

func (l *environment) startTTLController(args ...string) (*process, error) {
	return start(l.kcm, filepath.Join(l.dir, "kcm.log"), nil, append([]string{
		"--kubeconfig", l.plane.Kubeconfig(), "--controllers=ttl-after-finished-controller,garbage-collector-controller",
		"--leader-elect=false", "--secure-port=0",
	}, args...)...)
}

// firstGone waits until a controller has begun: its start time is not measured.
func (l *environment) firstGone(ctx context.Context, namespace string, n int) error {
	for {
		left, err := remaining(ctx, l.client, namespace)
		if err != nil || left < n {
			return err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
