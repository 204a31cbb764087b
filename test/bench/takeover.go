// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// takeover measures how long after it has acquired the Lease a new leader deletes a due Job, with and without facts, and what a
// standby costs until then.
func (l *environment) takeover(ctx context.Context) error {
	if err := ensureNamespace(ctx, l.client, "sunset-system"); err != nil {
		return err
	}
	for _, warm := range []bool{true, false} {
		if err := l.takeoverBy(ctx, warm); err != nil {
			return err
		}
	}
	return nil
}

func (l *environment) takeoverBy(ctx context.Context, warm bool) error {
	replica := func(name string) (*process, error) {
		return start(l.sunset, filepath.Join(l.dir, name+".log"), nil, append([]string{"--kubeconfig", l.plane.Kubeconfig(), fmt.Sprintf("--warm-standby=%v", warm),
			"--leader-elect-lease-duration=15s", "--metrics-bind-address=0", "--health-probe-bind-address=0"}, l.flags...)...)
	}
	began := time.Now()
	first, err := replica("first")
	if err != nil {
		return err
	}
	defer first.stop()
	if _, err := l.lease(ctx, began); err != nil {
		return err
	}
	name := map[bool]string{true: "warm", false: "cold"}[warm]
	if err := l.edit(ctx, "million", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[2].TTL = "30d" }); err != nil {
		return err
	}
	if _, err := l.counted(ctx, began); err != nil {
		return err
	}
	marker, err := l.marker(ctx, name+"-held")
	if err != nil {
		return err
	}
	if err := l.untilIdle(ctx, first); err != nil {
		return err
	}
	alone, err := l.loadOfChanges(ctx)
	if err != nil {
		return err
	}
	standby, err := replica("standby")
	if err != nil {
		return err
	}
	defer standby.stop()
	if err := l.untilIdle(ctx, standby); err != nil { // it has listed everything, if it does
		return err
	}
	if err := l.addStandby(ctx, name+" standby", standby, alone); err != nil {
		return err
	}
	ended := time.Now()
	if err := errors.Join(first.cmd.Process.Kill(), l.edit(ctx, "million", func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Rules[2].TTL = "0s" })); err != nil {
		return err
	}
	acquired, err := l.lease(ctx, ended)
	if err != nil {
		return err
	}
	if err := l.untilGone(ctx, marker); err != nil {
		return err
	}
	l.table.add("Sunset, first deletion after it has acquired the Lease, "+name+" standby", milliseconds(time.Since(acquired)), "")
	return nil
}

// lease waits until the Lease is acquired after a time, and returns when.
func (l *environment) lease(ctx context.Context, after time.Time) (time.Time, error) {
	for {
		lease, err := l.client.CoordinationV1().Leases("sunset-system").Get(ctx, "sunset-controller", metav1.GetOptions{})
		if client.IgnoreNotFound(err) != nil {
			return time.Time{}, err
		}
		if err == nil && acquiredAfter(lease, after) {
			return lease.Spec.AcquireTime.Time, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return time.Time{}, err
		}
	}
}

func acquiredAfter(lease *coordinationv1.Lease, after time.Time) bool {
	return lease.Spec.AcquireTime != nil && lease.Spec.AcquireTime.After(after)
}

// untilIdle waits until a process has used less than a tenth of a core for some time.
func (l *environment) untilIdle(ctx context.Context, p *process) error {
	for {
		before, err := cpu(p.pid())
		if err != nil {
			return err
		}
		if err := pause(ctx, l.size.settled); err != nil {
			return err
		}
		after, err := cpu(p.pid())
		if err != nil || after-before < l.size.settled/10 {
			return err
		}
	}
}
