// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// preflights measures a backlog in many namespaces, each with its own policy: the cost of the live reads before deletions when
// there is most to read.
func (l *environment) preflights(ctx context.Context) error {
	each := max(1, l.size.drain/4/l.size.policies)
	n := each * l.size.policies
	if err := l.spread(ctx, each); err != nil {
		return err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return err
	}
	defer sunset.stop()
	for i := range l.size.policies {
		if err := l.matched(ctx, spreadName(i), each); err != nil {
			return err
		}
	}
	before, err := countRequests(ctx, l.client)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := l.enforceAll(ctx); err != nil {
		return err
	}
	edited := time.Since(began)
	took, err := drained(ctx, l.client, metav1.NamespaceAll, began)
	if err != nil {
		return err
	}
	after, err := countRequests(ctx, l.client)
	if err != nil {
		return err
	}
	calls := after.since(before, ofDeletion) - l.size.policies*2 // the edits themselves: a GET and a PATCH each
	l.table.add(fmt.Sprintf("%d policies x %d namespaces, %d Jobs due", l.size.policies, l.size.policies, n), perSecond(n, took),
		fmt.Sprintf("%.3f API calls for each deletion, status writes included; switching the policies took %s", float64(calls)/float64(n), edited.Round(time.Millisecond)))
	return l.removeSpread(ctx)
}

func spreadName(i int) string { return fmt.Sprintf("spread-%04d", i) }

func (l *environment) spread(ctx context.Context, each int) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range l.size.policies {
		group.Go(func() error {
			if err := l.create(gctx, batch{namespace: spreadName(i), prefix: "job", count: each, finished: anHourAgo}); err != nil {
				return err
			}
			_, err := l.apply(gctx, spreadName(i), fmt.Sprintf(drainPolicy, spreadName(i)))
			return err
		})
	}
	return group.Wait()
}

func (l *environment) enforceAll(ctx context.Context) error {
	return together(ctx, l.size.policies, func(ctx context.Context, i int) error {
		return l.edit(ctx, spreadName(i), func(s *v1alpha1.ClusterRetentionPolicySpec) { s.Mode = v1alpha1.Enforce })
	})
}

func (l *environment) removeSpread(ctx context.Context) error {
	return together(ctx, l.size.policies, func(ctx context.Context, i int) error {
		if err := l.remove(ctx, spreadName(i)); err != nil {
			return err
		}
		return l.policy.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: spreadName(i)}})
	})
}
