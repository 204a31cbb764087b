// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/test/cluster"
)

// load is the work of the API server while Jobs change, without the requests that change them.
type load struct {
	requests, events float64 // answered and sent in a second
	cpu              float64 // percent of a core
}

func (l load) text() string {
	return fmt.Sprintf("%.1f requests/s, %.0f watch events/s, %.0f %% of a core", l.requests, l.events, l.cpu)
}

// addStandby adds what a standby costs while Jobs change; alone is the load without it.
func (l *environment) addStandby(ctx context.Context, name string, standby *process, alone load) error {
	began := time.Now()
	before, err := cpu(standby.pid())
	if err != nil {
		return err
	}
	beside, err := l.loadOfChanges(ctx)
	if err != nil {
		return err
	}
	after, err := cpu(standby.pid())
	if err != nil {
		return err
	}
	used := 100 * (after - before).Seconds() / time.Since(began).Seconds()
	now, peak, err := memory(standby.pid())
	if err != nil {
		return err
	}
	l.table.add("API server at 100 changes a second, with a "+name, beside.text(), "without: "+alone.text())
	l.table.add("Sunset, "+name+", resident beside them", megabytes(now), fmt.Sprintf("peak %s; %.2f %% of a core", megabytes(peak), used))
	return nil
}

// loadOfChanges changes stored Jobs, 100 a second, and returns the load of the API server in that time.
func (l *environment) loadOfChanges(ctx context.Context) (load, error) {
	began := time.Now()
	before, err := l.countLoad(ctx)
	if err != nil {
		return load{}, err
	}
	if err := l.changeJobs(ctx, l.jobChanges(), l.size.million-l.size.millionDue); err != nil {
		return load{}, err
	}
	after, err := l.countLoad(ctx)
	if err != nil {
		return load{}, err
	}
	took := time.Since(began).Seconds()
	others := func(key string) bool { return key != "PATCH jobs" && key != "GET " } // "GET " includes reads of the metrics
	events := after.events.since(before.events, func(string) bool { return true })
	if events == 0 {
		return load{}, errors.New("the API server has counted no events of watches, although a leader watches Jobs that change")
	}
	return load{
		requests: float64(after.requests.since(before.requests, others)) / took,
		events:   float64(events) / took,
		cpu:      100 * (after.cpu - before.cpu).Seconds() / took,
	}, nil
}

// jobChanges is how many changes of Jobs to measure.
func (l *environment) jobChanges() int { return int(l.size.idle / dueEvery) }

// changeJobs changes stored Jobs n times, 100 a second. The Jobs before the one with number stored exist.
func (l *environment) changeJobs(ctx context.Context, n, stored int) error {
	began := time.Now()
	return together(ctx, n, func(ctx context.Context, i int) error {
		if err := pause(ctx, time.Until(began.Add(time.Duration(i)*dueEvery))); err != nil {
			return err
		}
		note := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/changed":"%s %d"}}}`, began.Format(time.RFC3339Nano), i)
		_, err := l.client.BatchV1().Jobs(l.team(i%stored)).Patch(ctx, storedName("job", i%stored), types.MergePatchType, note, metav1.PatchOptions{})
		return err
	})
}

// counters are totals of the API server.
type counters struct {
	requests, events requests
	cpu              time.Duration
}

func (l *environment) countLoad(ctx context.Context) (c counters, err error) {
	if c.requests, err = countRequests(ctx, l.client); err != nil {
		return c, err
	}
	if c.events, err = count(ctx, l.client, eventTotal); err != nil {
		return c, err
	}
	c.cpu, err = cpu(l.plane.PID(cluster.APIServer))
	return c, err
}
