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

	maxTags = 8
	maxTag  = 512
)

// Removal is an image that the agent removed.
type Removal struct {
	ID string
	// Tags are the first few tags of the image, sorted.
	Tags []string
	// At is when it was removed, by the wall clock at that time.
	At time.Time
	// PulledAgain is when a listing first showed it again; zero if none did.
	PulledAgain time.Time
}

type removal struct {
	Removal
	when    time.Duration // in observed time
	reading Reading       // empty if it comes from a file
}

// Removed records that the agent removed an image, with a reading from after the removal. The image has no record from then on.
func (h *History) Removed(id string, tags []string, at Reading) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at = at.plain()
	h.changes++
	h.shorten()
	delete(h.images, id)
	if !isSane(id) {
		return
	}
	h.removals[id] = &removal{Removal{ID: strings.Clone(id), Tags: few(tags), At: at.Wall}, h.observed, at}
	if len(h.removals) > MaxRemovals {
		delete(h.removals, h.removalsInOrder()[0].ID)
	}
}

// few returns the tags to remember.
func few(tags []string) []string {
	var kept []string
	for _, tag := range tags {
		if len(tag) <= maxTag {
			kept = append(kept, strings.Clone(tag))
		}
	}
	slices.Sort(kept)
	return kept[:min(len(kept), maxTags)]
}

func (r *removal) compare(other *removal) int {
	return cmp.Or(cmp.Compare(r.when, other.when), r.At.Compare(other.At), cmp.Compare(r.ID, other.ID))
}

// PulledAgain returns the images that were pulled again within Thrash after the agent removed them, until that time is over.
// They are in the order of their removal.
func (h *History) PulledAgain() []Removal {
	h.mu.Lock()
	defer h.mu.Unlock()
	var again []Removal
	for _, r := range h.removalsInOrder() {
		if !r.PulledAgain.IsZero() {
			again = append(again, r.Removal)
		}
	}
	return again
}

func (h *History) removalsInOrder() []*removal {
	return slices.SortedFunc(maps.Values(h.removals), (*removal).compare)
}

// pulledAgain returns the removal of an image that is new in a listing, if this listing is the first to show it again. A
// listing that began before the removal is stale and does not count.
func (h *History) pulledAgain(id string, at Reading) (again []Removal, isStale bool) {
	r, ok := h.removals[id]
	if !ok || !r.PulledAgain.IsZero() {
		return nil, false
	}
	if passed, ok := at.since(r.reading); ok && passed <= 0 {
		return nil, true
	}
	if h.isOver(r) {
		return nil, false
	}
	r.PulledAgain = at.Wall
	return []Removal{r.Removal}, false
}

// expire forgets removals once their time is over.
func (h *History) expire() {
	maps.DeleteFunc(h.removals, func(_ string, r *removal) bool { return h.isOver(r) })
}

// isOver uses the clock that is ahead: observed time stops without listings, and the wall clock may step back.
func (h *History) isOver(r *removal) bool {
	return h.observed-r.when > Thrash || h.last.Wall.Sub(r.At) > Thrash
}
