// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

const standingPolicy = `
  mode: Enforce
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: standing}}
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job, selector: {matchExpressions: [{key: marker, operator: DoesNotExist}]}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 30d
  - name: marker
    target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {marker: "true"}}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 30d
`

// standing measures the cost of watching many finished Jobs that are not due, and the cost of changes beside them.
func (l *environment) standing(ctx context.Context) error {
	if err := l.stand(ctx); err != nil {
		return err
	}
	if err := l.ttlMemory(ctx); err != nil {
		return err
	}
	return l.watch(ctx)
}

// stand creates the standing Jobs and their policy if they do not exist.
func (l *environment) stand(ctx context.Context) error {
	if l.stands {
		return nil
	}
	l.stands = true
	if err := l.create(ctx, batch{namespace: "standing", prefix: "job", count: l.size.standing, finished: anHourAgo}); err != nil {
		return err
	}
	_, err := l.apply(ctx, "standing", standingPolicy)
	return err
}

// watch runs Sunset beside the standing Jobs, and edits the policy once Sunset has counted them.
func (l *environment) watch(ctx context.Context) error {
	if err := l.edit(ctx, "standing", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.ExcludeNamespaces = []string{"uncounted"} }); err != nil {
		return err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return err
	}
	defer sunset.stop()
	began := time.Now()
	if err := l.observed(ctx, "standing"); err != nil {
		return err
	}
	synced := time.Since(began)
	if err := l.enforcing(ctx, "standing"); err != nil { // it is counted again when its first count has put it in force
		return err
	}
	idle, err := l.idleCPU(ctx, sunset)
	if err != nil {
		return err
	}
	now, peak, err := memory(sunset.pid())
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("Sunset, resident with %d finished Jobs", l.size.standing),
		fmt.Sprintf("%s, peak %s", megabytes(now), megabytes(peak)), fmt.Sprintf("counted and written to status %s after its start", synced.Round(100*time.Millisecond)))
	l.table.add("Sunset, idle CPU beside them", fmt.Sprintf("%.3f %% of a core", idle), "")
	if err := l.redecide(ctx); err != nil {
		return err
	}
	return l.lateness(ctx)
}

// observed waits until the status describes the newest generation of the policy and all standing Jobs.
func (l *environment) observed(ctx context.Context, name string) error {
	return l.until(ctx, name, "counts all Jobs", func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.ObservedGeneration == p.Generation && p.Status.Matched == int64(l.size.standing)
	})
}

// ttlMemory measures the memory of the TTL controller beside the same Jobs.
func (l *environment) ttlMemory(ctx context.Context) error {
	kcm, err := start(l.kcm, l.dir+"/kcm.log", nil, "--kubeconfig", l.plane.Kubeconfig(), "--controllers=ttl-after-finished-controller",
		"--leader-elect=false", "--secure-port=0")
	if err != nil {
		return err
	}
	defer kcm.stop()
	if err := pause(ctx, l.size.idle); err != nil {
		return err
	}
	now, peak, err := memory(kcm.pid())
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("TTL controller, resident with %d finished Jobs", l.size.standing), fmt.Sprintf("%s, peak %s", megabytes(now), megabytes(peak)), "")
	return nil
}
