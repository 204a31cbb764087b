// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// MaxRemovals is the maximum number of removals that a History remembers. It forgets the oldest first.
	MaxRemovals = 1_000
	// Thrash is how long a History remembers a removal. If an image is pulled again within that time, its removal was a
	// mistake.
	Thrash = 24 * time.Hour
)

// removal is an image that the agent removed.
type removal struct {
	reading     Reading       // from after the removal; only the wall clock if it comes from a file
	when        time.Duration // in observed time
	pulledAgain time.Time     // when a listing first showed the image again; zero if none did
}

// Removed records that the agent removed an image, with a reading from after the removal. The image has no record from then on.
func (h *History) Removed(id string, at Reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
	h.shorten()
	delete(h.images, id)
	if !isSane(id) {
		return
	}
	h.removals[strings.Clone(id)] = &removal{reading: at.plain(), when: h.observed}
	if len(h.removals) > MaxRemovals {
		delete(h.removals, slices.MinFunc(slices.Collect(maps.Keys(h.removals)), h.compareRemovals))
	}
}

// Forget makes the age of an image start again with the next listing. The image has no record from then on.
func (h *History) Forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes++
	h.shorten()
	delete(h.images, id)
}

// compareRemovals orders the IDs of removed images by the time of their removal.
func (h *History) compareRemovals(a, b string) int {
	x, y := h.removals[a], h.removals[b]
	return cmp.Or(cmp.Compare(x.when, y.when), x.reading.Wall.Compare(y.reading.Wall))
}

// PulledAgain returns the number of images that were pulled again within Thrash after the agent removed them. They count until
// that time is over.
func (h *History) PulledAgain() (again int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.removals {
		if !r.pulledAgain.IsZero() {
			again++
		}
	}
	return again
}

// pulledAgain reports whether an image that is new in a listing was removed, and this listing is the first to show it again. A
// listing that began before the removal is stale and does not count.
func (h *History) pulledAgain(id string, at Reading) (again, isStale bool) {
	r, ok := h.removals[id]
	if !ok || !r.pulledAgain.IsZero() {
		return false, false
	}
	if passed, ok := at.since(r.reading); ok && passed <= 0 {
		return false, true
	}
	if h.isOver(r) {
		return false, false
	}
	r.pulledAgain = at.Wall
	return true, false
}

// expire forgets removals once their time is over.
func (h *History) expire() {
	maps.DeleteFunc(h.removals, func(_ string, r *removal) bool { return h.isOver(r) })
}

// isOver uses the clock that is ahead: observed time stops without listings, and the wall clock may step back.
func (h *History) isOver(r *removal) bool {
	return h.observed-r.when > Thrash || h.last.Wall.Sub(r.reading.Wall) > Thrash
}
