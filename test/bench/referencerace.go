// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/sunset-k8s/sunset/policy"
)

const raceNamespace = "referred-race"

const racePolicy = `
  mode: Enforce
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + raceNamespace + `}}
  rules:
  - name: race
    target: {apiVersion: v1, kind: ConfigMap}
    eligible: references.count == 0
    startTime: timestamp(object.metadata.annotations['example.com/due'])
    ttl: 0s
`

// ConfigMaps of the race become due one after the other. Pods that name them are created from this long before until this
// long after.
const (
	raceEvery = 100 * time.Millisecond
	raceReach = 20 * time.Millisecond
)

// race is one ConfigMap and the Pod that names it.
type race struct {
	due     time.Time
	pod     int64     // resourceVersion of the Pod at its creation
	podSeen time.Time // when the create request returned
	gone    int64     // resourceVersion of the ConfigMap's deletion; 0 while it exists
	goneAt  time.Time // when a watch reported the deletion
}

func raceName(i int) string { return fmt.Sprintf("race-%04d", i) }

// races creates Pods close to the time at which the ConfigMaps that they name become due, and reports how many Pods lose
// theirs.
func (l *environment) races(ctx context.Context) error {
	all, err := l.raceMaps(ctx)
	if err != nil {
		return err
	}
	w, err := l.client.CoreV1().ConfigMaps(raceNamespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.watchRaces(gctx, w, all) })
	group.Go(func() error {
		return together(gctx, len(all), func(ctx context.Context, i int) error { return l.racePod(ctx, i, len(all), &all[i]) })
	})
	if err := group.Wait(); err != nil {
		return err
	}
	l.reportRaces(all)
	return l.remove(ctx, "race")
}

// raceMaps creates the ConfigMaps, and one more that nothing names, which is due last. No ConfigMap may be due in the quiet period after the
// creation of the last: if the machine is too busy for that, it deletes them and creates them again, with twice as much time.
func (l *environment) raceMaps(ctx context.Context) ([]race, error) {
	if err := ensureNamespace(ctx, l.client, raceNamespace); err != nil {
		return nil, err
	}
	if _, err := l.apply(ctx, "race", racePolicy); err != nil {
		return nil, err
	}
	for ahead := l.size.ahead + time.Duration(l.size.races)*2*time.Millisecond; ; ahead *= 2 {
		first := time.Now().Add(policy.QuietPeriod + ahead)
		all, err := l.createRaces(ctx, first)
		if err != nil || time.Until(first) >= policy.QuietPeriod {
			return all, err
		}
		if err := l.client.CoreV1().ConfigMaps(raceNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return nil, err
		}
	}
}

// createRaces creates the ConfigMaps, the first of which is due at a time.
func (l *environment) createRaces(ctx context.Context, first time.Time) ([]race, error) {
	all := make([]race, l.size.races)
	create := func(ctx context.Context, i int) error {
		due := first.Add(time.Duration(i) * raceEvery)
		if i < len(all) {
			all[i].due = due
		}
		return l.createConfigMap(ctx, raceNamespace, raceName(i), map[string]string{"example.com/due": due.UTC().Format(time.RFC3339Nano)})
	}
	return all, together(ctx, len(all)+1, create)
}

// racePod creates the Pod of a race at its time.
func (l *environment) racePod(ctx context.Context, i, of int, r *race) error {
	offset := -raceReach + 2*raceReach*time.Duration(i*7%of)/time.Duration(of)
	if err := pause(ctx, time.Until(r.due.Add(offset))); err != nil {
		return err
	}
	pod, err := l.createPod(ctx, referringPod(raceNamespace, raceName(i), raceName(i)))
	if err != nil {
		return err
	}
	r.podSeen = time.Now()
	r.pod, err = strconv.ParseInt(pod.ResourceVersion, 10, 64)
	return err
}

// watchRaces records which ConfigMaps are deleted, until the one that nothing names is deleted: by then the controller has
// decided about all others.
func (l *environment) watchRaces(ctx context.Context, w watch.Interface, all []race) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-w.ResultChan():
			if !ok {
				return errors.New("the watch ended")
			}
			cm, isMap := event.Object.(*corev1.ConfigMap)
			if !isMap || event.Type != watch.Deleted {
				continue
			}
			if cm.Name == raceName(len(all)) {
				return nil
			}
			if err := note(all, cm); err != nil {
				return err
			}
		}
	}
}

func note(all []race, cm *corev1.ConfigMap) error {
	var i int
	if _, err := fmt.Sscanf(cm.Name, "race-%d", &i); err != nil || i >= len(all) {
		return fmt.Errorf("ConfigMap %s belongs to no race", cm.Name)
	}
	gone, err := strconv.ParseInt(cm.ResourceVersion, 10, 64)
	all[i].gone, all[i].goneAt = gone, time.Now()
	return err
}

// reportRaces reports the results of the races. The resourceVersions show whether the Pod or the deletion came first.
func (l *environment) reportRaces(all []race) {
	var kept, before int
	var lost waits
	for _, r := range all {
		switch {
		case r.gone == 0:
			kept++
		case r.gone < r.pod:
			before++
		default:
			lost = append(lost, max(0, r.goneAt.Sub(r.podSeen)))
		}
	}
	width := "none of them"
	if len(lost) > 0 {
		width = fmt.Sprintf("these ConfigMaps were deleted p50 %s, at most %s after the creation of their Pod", milliseconds(percentile(lost, .5)), milliseconds(percentile(lost, 1)))
	}
	l.table.add(fmt.Sprintf("Pods created within %s of the due time of their ConfigMap, %d times", raceReach, len(all)),
		fmt.Sprintf("%d came first and kept it, %d came after its deletion, %d lost it", kept, before, len(lost)), width)
}
