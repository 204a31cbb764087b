// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// longestRace is how long a removal may rely on what the agent has read about Pods and containers: seven seconds until the
// agent sends it, and then the time until a runtime on a busy machine receives it.
const longestRace = 10 * time.Second

// TestF40PodsComeWhileImagesGo removes images one by one, each slowly, while Pods that name them are bound to the node. An
// image stays if the Pod or a container exists before the agent's last check of the node. The test measures the remaining
// race: the highest age of a Pod whose image was removed.
func TestF40PodsComeWhileImagesGo(t *testing.T) {
	w := newEnv(t)
	s := critest.Start(t)
	n := w.node("a")
	const images, inContainer = 60, 61
	name := func(i int) string { return fmt.Sprintf("go.test/%d:v1", i) }
	s.Update(func(s *critest.State) {
		for i := range images {
			s.Images = append(s.Images, critest.Image(i+1, name(i+1)))
		}
		s.Images = append(s.Images, critest.Image(inContainer, name(inContainer)))
	})
	r := &race{removed: map[string]time.Time{}, first: make(chan struct{})}
	s.On("RemoveImage", r.slowly)
	s.On("ImageStatus", startsWhenAskedFor(s, inContainer)) // the last request about the image, right before the agent lists what uses it
	w.sunset()
	w.approved("unused", unusedImages)
	w.startAgent(agent.Config{Clock: hasty{}, Node: n.Name, Endpoint: s.Endpoint, StateDir: t.TempDir()})
	<-r.first
	named := map[string]time.Time{} // when the API server confirmed the Pod, by image ID
	for i := images; i > images/4; i-- {
		w.create(w.naming(n, name(i)))
		named[critest.ID(i)] = time.Now()
	}
	cluster.Eventually(w, patience, func() error { // all other images are removed
		for _, id := range w.scripted(s) {
			if named[id].IsZero() && id != critest.ID(inContainer) {
				return fmt.Errorf("image %s still exists", id)
			}
		}
		return nil
	})
	time.Sleep(3 * time.Second) // enough to remove the images that no Pod keeps
	left := w.scripted(s)
	longest, lost := time.Duration(0), 0
	for id, at := range r.gone() {
		if pod, ok := named[id]; ok && at.After(pod) {
			lost++
			longest = max(longest, at.Sub(pod))
		}
	}
	t.Logf("%d of %d images removed, %d of them after the creation of a Pod that names them; highest age of such a Pod: %s", len(r.gone()), images, lost, longest)
	if longest > longestRace {
		t.Errorf("an image was removed %s after the creation of a Pod that names it", longest)
	}
	if inUse := slices.Contains(left, critest.ID(inContainer)); len(left) < 2 || !inUse {
		t.Errorf("%d images are left, want that of the container and some that Pods name; the image of the container is left: %t", len(left), inUse)
	}
}

// race records when images are removed.
type race struct {
	first chan struct{} // closed at the first removal

	mu      sync.Mutex
	removed map[string]time.Time
}

// slowly is a hook of RemoveImage.
func (r *race) slowly(ctx context.Context, request any, handle func() (any, error)) (any, error) {
	r.mu.Lock()
	if len(r.removed) == 0 {
		close(r.first)
	}
	r.removed[critest.Asked(request)] = time.Now()
	r.mu.Unlock()
	time.Sleep(150 * time.Millisecond)
	return handle()
}

func (r *race) gone() map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]time.Time, len(r.removed))
	for id, at := range r.removed {
		all[id] = at
	}
	return all
}

// startsWhenAskedFor is a hook of ImageStatus: after a request for this image, a container uses it.
func startsWhenAskedFor(s *critest.Server, n int) critest.Hook {
	start := sync.OnceFunc(func() {
		s.Update(func(s *critest.State) { s.Containers = append(s.Containers, critest.Container(n)) })
	})
	return func(_ context.Context, request any, handle func() (any, error)) (any, error) {
		answer, err := handle()
		if critest.Asked(request) == critest.ID(n) {
			start()
		}
		return answer, err
	}
}
