// SPDX-License-Identifier: Apache-2.0

package history

import (
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// MaxImages is the maximum number of images with a record. Existing records stay, and new images wait until there is room.
	// An image without a record has no age, and so is kept.
	MaxImages = 10_000

	// maxID is the maximum length of an image ID. A digest has 71 characters.
	maxID = 256
	// slack is how late the reported times may be.
	slack = 2 * time.Second
	// longestGap is the time without a listing after which all ages start again, because images may have been used or pulled in it.
	longestGap = time.Hour
)

// Seen is one line of a complete listing of the runtime.
type Seen struct {
	ID    string
	InUse bool // by anything: a container in any state, a Pod of the node, a mount
}

// Outcome is the result of a listing.
type Outcome struct {
	// Stale means that the listing began before the last one and was ignored. Take the reading first, and only one listing at a
	// time.
	Stale bool
	// Doubted means that the listing was empty although there were images; see History.Observe.
	Doubted bool
	// PulledAgain is the number of images that have come back within a day after their removal. Each is reported once.
	PulledAgain int
}

// History is what listings have shown of the images of one node. It is safe for concurrent use.
type History struct {
	gap time.Duration

	mu       sync.Mutex
	images   map[string]*record
	removals map[string]*removal
	observed time.Duration // the time that counts; earlier points of it are smaller, and negative if they come from a file
	zero     time.Time     // when observed was 0, by the current wall clock
	last     Reading       // of the last listing that was not doubted, even in an earlier process
	begun    bool          // this process has taken that listing
	doubted  bool          // the last listing is doubted
	round    uint64

	changes  uint64 // number of listings and removals
	shortens uint64 // number of the last change that made an age shorter
}

// New returns an empty History. The time between two listings counts if it is not longer than gap, which should be twice the
// interval of the listings.
func New(gap time.Duration) *History {
	return &History{gap: gap, images: map[string]*record{}, removals: map[string]*removal{}}
}

// Observe records one complete listing, with a reading from before it began. Do not call it if the listing failed.
//
// An empty listing is doubted if there were images, because an agent that runs from an image must see at least one. Until the
// next listing that is not empty nothing is known, and no time counts. If that listing has all the previous images, the empty
// one was wrong and they keep their ages. If an image is missing, the empty listing may have been correct. Then all ages start
// again, because the other images may have been pulled again. They also start again if the first listing of a process is empty,
// because the file may not have all previous images. The same happens if the node was on for more than an hour, and for more than
// the gap, without a listing.
func (h *History) Observe(at Reading, seen []Seen) Outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	at = at.plain()
	if passed, ok := at.since(h.last); ok && passed < 0 && h.begun {
		return Outcome{Stale: true}
	}
	h.changes++
	isEmpty := len(seen) == 0 && len(h.images) > 0
	if isEmpty && h.begun {
		h.doubt()
		return Outcome{Doubted: true}
	}
	isLate := at.uptimeSince(h.last) > max(longestGap, h.gap)
	h.pass(at)
	missing, hasNew := h.match(seen)
	if isLate || missing && (h.doubted || isEmpty) {
		h.resetAges()
	}
	h.begun, h.doubted = true, false
	var o Outcome
	if hasNew {
		o.PulledAgain = h.welcome(seen, at)
	}
	h.expire()
	return o
}

func (h *History) doubt() {
	if !h.doubted {
		h.doubted = true
		h.shorten()
	}
}

// shorten records that an age is now shorter than the saved one.
func (h *History) shorten() { h.shortens = h.changes }

// pass adds the time since the last listing, if it counts.
func (h *History) pass(at Reading) {
	if passed, ok := at.since(h.last); ok && 0 <= passed && passed <= h.gap && !h.doubted {
		h.observed += passed
	}
	h.last = at
	if zero := at.Wall.Add(-h.observed); h.movesTo(zero) {
		h.zero = zero.Truncate(time.Second).Add(time.Second)
	}
}

// movesTo reports whether zero has moved to another time of the wall clock.
func (h *History) movesTo(zero time.Time) bool {
	return zero.After(h.zero) || zero.Before(h.zero.Add(-slack))
}

// IsCurrent reports whether the times of the last listing still hold at a reading: since then the wall clock has not stepped, and
// the time that has passed counts. If it is false, decide nothing by these times before the next listing.
func (h *History) IsCurrent(at Reading) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	passed, ok := at.since(h.last)
	return ok && 0 <= passed && passed <= h.gap && !h.movesTo(at.plain().Wall.Add(-h.observed-passed))
}

// match updates the records of listed images and deletes the other records. It reports whether there were any of these, and
// whether the listing has new images.
func (h *History) match(seen []Seen) (missing, hasNew bool) {
	h.round++
	present := 0
	for _, s := range seen {
		r, ok := h.images[s.ID]
		if !ok {
			hasNew = true
			continue
		}
		if r.round != h.round {
			present++
		}
		if r.see(h.round, h.observed, s.InUse) {
			h.shorten()
		}
	}
	if present == len(h.images) {
		return false, hasNew
	}
	h.shorten()
	maps.DeleteFunc(h.images, func(_ string, r *record) bool { return r.round != h.round })
	return true, hasNew
}

func (h *History) resetAges() {
	h.shorten()
	for _, r := range h.images {
		r.begin(h.observed)
	}
}

// welcome adds records for new images while there is room. It returns how many of them were pulled again.
func (h *History) welcome(seen []Seen, at Reading) (again int) {
	for _, s := range seen {
		if r, ok := h.images[s.ID]; ok {
			r.see(h.round, h.observed, s.InUse) // another line about a new image
			continue
		}
		isAgain, isStale := h.pulledAgain(s.ID, at)
		if isStale || len(h.images) >= MaxImages || !isSane(s.ID) {
			continue
		}
		if isAgain {
			again++
		}
		r := &record{inUse: s.InUse, round: h.round}
		r.begin(h.observed)
		h.images[strings.Clone(s.ID)] = r
	}
	return again
}

// isSane reports whether id can be the ID of an image, and can be saved.
func isSane(id string) bool { return id != "" && len(id) <= maxID && utf8.ValidString(id) }

// Of returns the record of an image in the last listing; false if it has none. No image has a record before the first listing
// of this process, or while a listing is doubted. An image without a record must be kept.
func (h *History) Of(id string) (Record, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.images[id]
	if !ok || !h.begun || h.doubted {
		return Record{}, false
	}
	told := Record{FirstSeen: h.zero.Add(r.first)}
	if r.used {
		told.LastUsed = h.zero.Add(r.last)
	}
	return told, true
}

// observedSoFar returns the time that has counted since this process began.
func (h *History) observedSoFar() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observed
}
