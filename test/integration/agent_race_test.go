package integration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/controllers/node/agent"
	"github.com/sunset-k8s/sunset/controllers/node/images/cri/critest"
	"github.com/sunset-k8s/sunset/test/cluster"
)

// longestRace is for how long a removal may go by what was seen of Pods and containers: seven seconds until it is sent, and then the
// runtime, on a busy machine, has to hear of it.
const longestRace = 10 * time.Second

// TestF40PodsComeWhileImagesGo: images are removed one by one, each slowly, while Pods that name them are bound to the node. A
// Pod that comes before the last look at the node keeps its image, as does a container that is there by then. What remains is
// measured: how old a Pod was at most whose image went nevertheless.
func TestF40PodsComeWhileImagesGo(t *testing.T) {
	w := newWorld(t)
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
	s.On("ImageStatus", startsWhenAskedFor(s, inContainer)) // which is the last look at it, right before what uses it is listed
	w.sunset()
	w.approved("unused", unusedImages)
	w.startAgent(agent.Config{Clock: hasty{}, Node: n.Name, Endpoint: s.Endpoint, StateDir: t.TempDir()})
	<-r.first
	named := map[string]time.Time{} // by the ID of the image: when the API server had answered that there is a Pod
	for i := images; i > images/4; i-- {
		w.create(w.naming(n, name(i)))
		named[critest.ID(i)] = time.Now()
	}
	there := map[string]bool{}
	cluster.Eventually(w, patience, func() error { // all others have gone
		clear(there)
		for _, id := range w.scripted(s) {
			if there[id] = true; named[id].IsZero() && id != critest.ID(inContainer) {
				return fmt.Errorf("image %s is there", id)
			}
		}
		return nil
	})
	longest, lost := time.Duration(0), 0
	for id, at := range r.gone() {
		if pod, ok := named[id]; ok && at.After(pod) {
			lost++
			longest = max(longest, at.Sub(pod))
		}
	}
	t.Logf("%d of %d images went, %d after there was a Pod that names them; the oldest such Pod was %s old", len(r.gone()), images, lost, longest)
	if longest > longestRace {
		t.Errorf("an image went %s after there was a Pod that names it", longest)
	}
	kept := 0
	for id := range named {
		if there[id] {
			kept++
		}
	}
	if len(r.gone()) == 0 || !there[critest.ID(inContainer)] {
		t.Errorf("%d of %d images are kept by Pods, %d went, the one in a container is there: %t", kept, len(named), len(r.gone()), there[critest.ID(inContainer)])
	}
}

// race notes when images are removed.
type race struct {
	first chan struct{} // closed when the first is

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

// startsWhenAskedFor is a hook of ImageStatus: once it has been told of the image, a container has it.
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
