// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// unreferencedPolicy evaluates references to ConfigMaps; noReferencesPolicy selects the same ConfigMaps and does not.
const (
	unreferencedPolicy = `
  mode: Enforce
  excludeNamespaces: [` + raceNamespace + `]
  rules:
  - name: unused
    target: {apiVersion: v1, kind: ConfigMap}
    eligible: references.count == 0
    ttl: 30d
`
	noReferencesPolicy = `
  mode: Enforce
  rules:
  - name: none
    target: {apiVersion: v1, kind: ConfigMap}
    eligible: object.metadata.name == ''
    ttl: 30d
`
)

// references measures rules that ask for references to ConfigMaps, beside many Pods: the cost of tracking references, how
// soon a new Pod counts, and the remaining race between a deletion and a Pod that is created at the same time. It runs on
// its own control plane, where only Sunset acts on Pods.
func (l *environment) references(ctx context.Context) error {
	return l.withPods(ctx, func(own *environment) []func(context.Context) error {
		return []func(context.Context) error{own.readsOfPods, own.populate, own.withoutReferences, own.withReferences}
	})
}

// withPods runs steps on a control plane of their own, where only Sunset acts on Pods.
func (l *environment) withPods(ctx context.Context, steps func(*environment) []func(context.Context) error) error {
	own, err := openEnvironment(ctx, l.options, cluster.Options{Controllers: []string{}})
	if err != nil {
		return err
	}
	defer own.close()
	config := own.plane.Config()
	config.ContentType = "application/vnd.kubernetes.protobuf" // so that creating the load takes less of the machine
	if own.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	for _, step := range steps(own) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	l.table.rows = append(l.table.rows, own.table.rows...)
	return nil
}

// withoutReferences measures the cost of the ConfigMaps alone.
func (l *environment) withoutReferences(ctx context.Context) error {
	sunset, err := l.resident(ctx, "without", noReferencesPolicy, l.besidePods("reference tracking disabled"), func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.Matched == int64(l.size.referred+l.size.spares)
	})
	if err != nil {
		return err
	}
	sunset.stop()
	return l.remove(ctx, "without")
}

// withReferences measures the same with reference tracking, and the effect of changes.
func (l *environment) withReferences(ctx context.Context) error {
	sunset, err := l.resident(ctx, "unused", unreferencedPolicy, l.besidePods("reference tracking enabled"), func(p *v1alpha1.ClusterRetentionPolicy) bool {
		return p.Status.Matched == int64(l.size.referred+l.size.spares) && p.Status.Eligible == int64(l.size.spares)
	})
	if err != nil {
		return err
	}
	defer sunset.stop()
	if err := l.marksWritten(ctx); err != nil {
		return err
	}
	if err := l.lags(ctx, sunset); err != nil {
		return err
	}
	return l.races(ctx)
}

// besidePods describes the objects of scenario references.
func (l *environment) besidePods(how string) string {
	return fmt.Sprintf("%d ConfigMaps beside %d Pods, %s", l.size.referred+l.size.spares, l.size.referring, how)
}

// resident starts Sunset with one policy, and reports its memory beside some objects once the policy's status is as expected.
func (l *environment) resident(ctx context.Context, name, spec, beside string, counted func(*v1alpha1.ClusterRetentionPolicy) bool) (*process, error) {
	if _, err := l.apply(ctx, name, spec); err != nil {
		return nil, err
	}
	sunset, err := l.startSunset()
	if err != nil {
		return nil, err
	}
	if err := l.reportResident(ctx, sunset, name, beside, counted); err != nil {
		sunset.stop()
		return nil, err
	}
	return sunset, nil
}

func (l *environment) reportResident(ctx context.Context, sunset *process, name, beside string, counted func(*v1alpha1.ClusterRetentionPolicy) bool) error {
	began := time.Now()
	if err := l.until(ctx, name, "counts all objects", counted); err != nil {
		return err
	}
	took := time.Since(began)
	if err := pause(ctx, l.size.idle/3); err != nil {
		return err
	}
	now, peak, err := memory(sunset.pid())
	if err != nil {
		return err
	}
	l.table.add("Sunset, resident with "+beside, fmt.Sprintf("%s, peak %s", megabytes(now), megabytes(peak)), fmt.Sprintf("counted and written to status %s after its start", took.Round(100*time.Millisecond)))
	return nil
}
