// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// bystanderEvery is the interval between two requests of the bystander.
const bystanderEvery = 20 * time.Millisecond

// bystander is another client of the API server. It reads and writes one small object at a steady pace while work runs, and
// returns the 99th percentile of its latency.
func (l *environment) bystander(ctx context.Context, work func(context.Context) error) (time.Duration, error) {
	maps := l.client.CoreV1().ConfigMaps("default")
	if _, err := maps.Get(ctx, "bystander", metav1.GetOptions{}); err != nil {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bystander"}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return 0, err
		}
	}
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	var waits []time.Duration
	ticker := time.NewTicker(bystanderEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case err := <-done:
			return percentile(waits, 0.99), err
		case <-ticker.C:
		}
		began := time.Now()
		var err error
		if n%2 == 0 {
			_, err = maps.Get(ctx, "bystander", metav1.GetOptions{})
		} else {
			_, err = maps.Patch(ctx, "bystander", types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n), metav1.PatchOptions{})
		}
		if err == nil {
			waits = append(waits, time.Since(began))
		}
	}
}

// percentile returns the value that this share of all values does not exceed; 0 without values.
func percentile(values []time.Duration, share float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
