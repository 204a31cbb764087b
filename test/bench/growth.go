// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// growthPolicy selects Jobs by a label whose values divide them among several policies.
const growthPolicy = `
  mode: Enforce
  rules:
  - name: jobs
    target: {apiVersion: batch/v1, kind: Job, selector: {matchLabels: {%s: "%d"}}}
    eligible: finished(object)
    startTime: finishedAt(object)
    ttl: 30d
`

// curves are the results of scenario growth.
type curves struct {
	Objects  []point `json:"objects"`  // with one policy
	Policies []point `json:"policies"` // with the same number of objects
}

// point is what Sunset needs beside a number of Jobs, which policies with selectors of their own share.
type point struct {
	Objects  int     `json:"objects"`
	Policies int     `json:"policies"`
	Resident int64   `json:"residentBytes"`
	Peak     int64   `json:"peakBytes"`
	Counted  float64 `json:"countedSeconds"`    // from its start until each status has the counts
	Count    float64 `json:"countCPUSeconds"`   // its CPU until then
	Idle     float64 `json:"idleCPUPercent"`    // of a core
	Change   float64 `json:"changeCPUMillisec"` // its CPU for one change of an object
}

// growth measures how memory, time and CPU grow with the objects and with the policies.
func (l *environment) growth(ctx context.Context) error {
	return l.elsewhere(ctx, func(m *environment, ctx context.Context) error {
		grown, err := m.grow(ctx)
		if err != nil || l.curves == "" {
			return err
		}
		return grown.write(l.curves)
	})
}

// write writes the results as JSON and as a figure.
func (c curves) write(name string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	figure, err := c.figure()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(name+".json", append(data, '\n'), 0o600), os.WriteFile(name+".svg", figure, 0o600))
}

// grow stores more and more Jobs, and measures a new process for each number of them and of policies.
func (l *environment) grow(ctx context.Context) (grown curves, err error) {
	job, err := l.storeSeed(ctx)
	if err != nil {
		return grown, err
	}
	type step struct {
		objects, policies int
		into              *[]point
	}
	var steps []step
	for _, n := range l.size.growth {
		steps = append(steps, step{n, 1, &grown.Objects})
	}
	for _, n := range l.size.growthBy {
		steps = append(steps, step{l.size.policied, n, &grown.Policies})
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.objects, b.objects) })
	stored := 0
	for _, at := range steps {
		if err := l.storeJobs(ctx, job, stored, at.objects); err != nil {
			return grown, fmt.Errorf("write objects into etcd: %w", err)
		}
		stored = at.objects
		p, err := l.pointAt(ctx, at.objects, at.policies)
		if err != nil {
			return grown, fmt.Errorf("%d objects, %d policies: %w", at.objects, at.policies, err)
		}
		*at.into = append(*at.into, p)
		l.table.add(fmt.Sprintf("Sunset, resident with %d Jobs and %d policies", p.Objects, p.Policies), megabytes(p.Resident),
			fmt.Sprintf("peak %s; counted after %.1f s, with %.1f s of CPU; idle %.3f %% of a core; %.2f ms of CPU for a change", megabytes(p.Peak), p.Counted, p.Count, p.Idle, p.Change))
	}
	return grown, nil
}

// storeJobs writes the Jobs from one number to another into etcd, with the labels that growthPolicy selects.
func (l *environment) storeJobs(ctx context.Context, job runtime.Object, from, to int) error {
	return l.storage.copies(ctx, job, to-from, manyAtOnce, func(i int, copied runtime.Object) string {
		i += from
		labels := map[string]string{}
		for _, policies := range l.size.growthBy {
			labels[sharedBy(policies)] = fmt.Sprint(i % policies)
		}
		return l.storage.copyOfJob(copied.(*batchv1.Job), l.team(i), storedName("job", i), labels)
	})
}

// sharedBy is the label that divides the Jobs among policies.
func sharedBy(policies int) string { return fmt.Sprintf("shared-by-%d", policies) }

// pointAt measures a new process.
func (l *environment) pointAt(ctx context.Context, objects, policies int) (p point, err error) {
	p.Objects, p.Policies = objects, policies
	name := func(i int) string { return fmt.Sprintf("growth-%04d", i) }
	if err := together(ctx, policies, func(ctx context.Context, i int) error {
		_, err := l.apply(ctx, name(i), fmt.Sprintf(growthPolicy, sharedBy(policies), i))
		return err
	}); err != nil {
		return p, err
	}
	began := time.Now()
	sunset, err := l.startSunset()
	if err != nil {
		return p, err
	}
	defer sunset.stop()
	for i := range policies {
		if err := l.matched(ctx, name(i), objects/policies); err != nil {
			return p, err
		}
	}
	p.Counted = time.Since(began).Seconds()
	counting, err := cpu(sunset.pid())
	if err != nil {
		return p, err
	}
	p.Count = counting.Seconds()
	if p.Idle, err = l.idleCPU(ctx, sunset); err != nil {
		return p, err
	}
	if p.Resident, p.Peak, err = memory(sunset.pid()); err != nil {
		return p, err
	}
	if p.Change, err = l.changeCPU(ctx, sunset, objects); err != nil {
		return p, err
	}
	return p, together(ctx, policies, func(ctx context.Context, i int) error { return l.remove(ctx, name(i)) })
}

// changeCPU returns the CPU of a process for one change of an object, in milliseconds, with its share of what it uses when idle.
func (l *environment) changeCPU(ctx context.Context, sunset *process, objects int) (float64, error) {
	before, err := cpu(sunset.pid())
	if err != nil {
		return 0, err
	}
	if err := l.changeJobs(ctx, l.jobChanges(), objects); err != nil {
		return 0, err
	}
	after, err := cpu(sunset.pid())
	return float64(after-before) / float64(l.jobChanges()) / float64(time.Millisecond), err
}
