// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sunset-k8s/sunset/test/cluster"
	"github.com/sunset-k8s/sunset/test/containerd"
	"github.com/sunset-k8s/sunset/test/expect"
	"github.com/sunset-k8s/sunset/test/scrape"
)

// pulledImages deletes images that came from a registry of the test.
const pulledImages = `
mode: Enforce
rules:
- name: unused
  target: {apiVersion: node.sunset-k8s.io/v1alpha1, kind: Image}
  eligible: object.spec.tags.exists(t, t.startsWith('127.0.0.1:'))
  ttl: 2s
  images: {minAge: 1s}
`

// pull pulls an image that a Pod will run. The channel delivers nil if the result is the wanted image.
func (w *env) pull(d *containerd.Daemon, name string, want containerd.Image) <-chan error {
	done := make(chan error, 1)
	go func() {
		id, err := d.Pull(w.Context(), name)
		if err == nil && id != want.ID() {
			err = fmt.Errorf("pulled %s as %s, want %s", name, id, want.ID())
		}
		done <- err
	}()
	return done
}

// TestPullsSucceedDuringRemovals: pulls succeed while the agent removes images that share layers with them, or an image that is being
// pulled again.
func TestPullsSucceedDuringRemovals(t *testing.T) {
	t.Parallel()
	for _, lane := range containerd.Lanes() {
		t.Run(string(lane), func(t *testing.T) {
			w := newEnv(t)
			d := containerd.Run(t, containerd.Options{Lane: lane})
			registry := containerd.StartRegistry(t)
			n := w.node("a")
			other, same, late := runnable("pull.test/other:1"), runnable("pull.test/same:1"), runnable("pull.test/late:1")
			expect.NoError(w, <-w.pull(d, registry.Add("other", "1", other), other))
			expect.NoError(w, <-w.pull(d, registry.Add("same", "1", same), same))
			lateName, sameName := registry.Add("late", "1", late), registry.Add("same", "2", same)
			w.create(w.naming(n, lateName, sameName))
			registry.Hold()
			latePulled := w.pull(d, lateName, late)
			w.held(registry)
			w.sunset()
			w.agentOn(n, d, t.TempDir())
			w.approved("pulled", pulledImages)
			w.goes(d, other, same)
			samePulled := w.pull(d, sameName, same)
			w.held(registry)
			registry.Release()
			expect.NoError(w, <-latePulled)
			expect.NoError(w, <-samePulled)
			w.keeps(d, late, same)
			_, containers := w.running(d, late, same)
			last := runnable("pull.test/last:1")
			expect.NoError(w, <-w.pull(d, registry.Add("last", "1", last), last))
			w.goes(d, last)
			w.keeps(d, late, same)
			w.runOn(d, containers)
			cluster.Eventually(w, patience, func() error {
				n := scrape.Of(w, w.metrics)["sunset_image_pulled_again_total"]
				return cluster.Want(n == 1, "%v images were pulled again, want one", n)
			})
		})
	}
}

// held waits until a pull requests a blob that is held back.
func (w *env) held(registry *containerd.Registry) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	expect.NoError(w, registry.Held(ctx))
}

// runOn reports an error for each container that does not run anymore.
func (w *env) runOn(d *containerd.Daemon, containers []string) {
	w.Helper()
	for _, id := range containers {
		if running, err := d.IsRunning(w.Context(), id); err != nil || !running {
			w.Errorf("container %s: running is %t, %v", id, running, err)
		}
	}
}
