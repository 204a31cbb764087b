package history

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// MaxImages is how many images are known at most. Those known stay known, and new ones wait until there is room: an image
	// that is not known has no age, and so is kept.
	MaxImages = 10_000

	// maxID bounds what a runtime may call an image. A digest has 71 characters.
	maxID = 256
	// slack is how late the times told may be.
	slack = 2 * time.Second
)

// Seen is one line of a complete listing of the runtime.
type Seen struct {
	ID    string
	InUse bool // by anything: a container in any state, a Pod of the node, a mount
}

// Outcome is what a listing came to.
type Outcome struct {
	// Stale is a listing that began before the last one. It is not taken: take the reading first, and one listing at a time.
	Stale bool
	// Doubted is an empty listing although there were images; see History.Observe.
	Doubted bool
	// Paused means that the time since the last listing does not count: it was too long, or in another boot.
	Paused bool
	// Anew means that all images begin again, as an empty listing turned out to be true.
	Anew bool
	// Moved means that the times of all images have changed, not only those of images used since.
	Moved bool
	// Untracked is how many images have no record: there are MaxImages already, or their ID is absurd.
	Untracked int
	// PulledAgain are images that are back within a day after they were removed, each told once.
	PulledAgain []Removal
}

// History is what listings have shown of the images of one node. It is safe for concurrent use.
type History struct {
	gap time.Duration

	mu       sync.Mutex
	images   map[string]*record
	removals map[string]*removal
	observed time.Duration // the time that counts: all points of it are smaller, or below zero if they come from a file
	zero     time.Time     // when observed was 0, in times of the wall clock of now
	last     Reading       // of the last listing that was not doubted, also if a process before has taken it
	begun    bool          // this process has taken it
	doubted  bool          // the last listing was
	round    uint64

	changes  uint64 // how many listings and removals there were
	shortens uint64 // the last of them that made an age shorter
}

// New gives a History that knows nothing. Time between two listings counts if it is not longer than gap: twice the interval
// at which the agent lists is right.
func New(gap time.Duration) *History {
	return &History{gap: gap, images: map[string]*record{}, removals: map[string]*removal{}}
}

// Observe takes over one complete listing, with a reading from before it began. Do not call it if that failed.
//
// An empty listing although there were images is doubted: an agent that runs from an image does not see none. Nothing is
// known then, and no time counts, until the next listing that is not empty. If that has all the images there were, the empty
// one was wrong, and they keep their ages. If one is missing, it may have been right, and all begin again: those that are
// there may have been pulled again. So they do if the first listing of a process is empty: nobody knows whether all the images
// there were are in the file.
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
	var o Outcome
	o.Paused, o.Moved = h.pass(at)
	missing, hasNew := h.match(seen)
	o.Anew = missing && (h.doubted || isEmpty)
	h.begun, h.doubted = true, false
	if o.Anew {
		h.beginAnew()
	}
	if hasNew {
		h.welcome(seen, at, &o)
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

// shorten notes that an age is shorter than what was saved.
func (h *History) shorten() { h.shortens = h.changes }

// pass has the time since the last listing count, if it does.
func (h *History) pass(at Reading) (paused, moved bool) {
	passed, ok := at.since(h.last)
	isFirst := h.last == Reading{}
	if ok = ok && 0 <= passed && passed <= h.gap && !h.doubted; ok {
		h.observed += passed
	}
	h.last = at
	zero := at.Wall.Add(-h.observed)
	if zero.After(h.zero) || zero.Before(h.zero.Add(-slack)) {
		h.zero, moved = zero.Truncate(time.Second).Add(time.Second), true
	}
	return !ok && !isFirst, moved
}

// match takes over what is listed of the images there were, and forgets those that are not. It reports whether
// there were any, and whether others are listed.
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
	for id, r := range h.images {
		if r.round != h.round {
			delete(h.images, id)
		}
	}
	return true, hasNew
}

func (h *History) beginAnew() {
	h.shorten()
	for _, r := range h.images {
		r.begin(h.observed)
	}
}

// welcome begins records of images that are new, as long as there is room.
func (h *History) welcome(seen []Seen, at Reading, o *Outcome) {
	for _, s := range seen {
		if r, ok := h.images[s.ID]; ok {
			r.see(h.round, h.observed, s.InUse) // another line about one that is new
			continue
		}
		switch again, isStale := h.pulledAgain(s.ID, at); {
		case isStale:
		case len(h.images) >= MaxImages || !isSane(s.ID):
			o.Untracked++
		default:
			o.PulledAgain = append(o.PulledAgain, again...)
			r := &record{inUse: s.InUse, round: h.round}
			r.begin(h.observed)
			h.images[strings.Clone(s.ID)] = r
		}
	}
}

// isSane reports whether it can be the ID of an image, and be written down.
func isSane(id string) bool { return id != "" && len(id) <= maxID && utf8.ValidString(id) }

// Of gives what is known about an image that the last listing showed. Nothing is known about any before this process has taken
// a listing, and while one is doubted: keep what is not known.
func (h *History) Of(id string) (Record, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.images[id]
	if !ok || !h.begun || h.doubted {
		return Record{}, false
	}
	told := Record{FirstSeen: h.zero.Add(r.first), InUse: r.inUse}
	if r.used {
		told.LastUsed = h.zero.Add(r.last)
	}
	if !r.inUse {
		told.UnusedFor = h.observed - r.start()
	}
	return told, true
}

// observedSoFar is the time that has counted since this process began.
func (h *History) observedSoFar() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observed
}

// Len is how many images have a record.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.images)
}
