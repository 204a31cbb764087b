package scene

import (
	"strings"
	"sync"
)

// hall is where scenes that share a control plane are. There are so many places, and one who wants to be alone waits until
// all others have left.
type hall struct {
	places int

	mu      sync.Mutex
	changed *sync.Cond
	inside  map[string]int // scenes, by the name of the test that came in first
	alone   string         // who has the hall for itself; empty for nobody
	waiting int            // how many wait to be alone: nobody else comes in before them
}

// enter waits for a place, and gives the name to leave with. A test comes in with the one that it is part of, if that is inside.
func (h *hall) enter(test string, alone bool) (guest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside == nil {
		h.inside, h.changed = map[string]int{}, sync.NewCond(&h.mu)
	}
	guest = h.host(test)
	if alone {
		h.waiting++
		for !h.onlyHas(guest) {
			h.changed.Wait()
		}
		h.waiting--
		h.alone = guest
	} else {
		for !h.hasPlace(guest) {
			h.changed.Wait()
		}
	}
	h.inside[guest]++
	return guest
}

// host is the test that is inside and that another is part of; that one itself if there is none.
func (h *hall) host(test string) string {
	for name := test; name != ""; name = name[:max(0, strings.LastIndex(name, "/"))] {
		if h.inside[name] > 0 {
			return name
		}
	}
	return test
}

func (h *hall) hasPlace(guest string) bool {
	switch {
	case h.inside[guest] > 0:
		return true
	case h.alone != "":
		return false
	default:
		return h.waiting == 0 && len(h.inside) < h.places
	}
}

func (h *hall) onlyHas(guest string) bool {
	return len(h.inside) == 0 || len(h.inside) == 1 && h.inside[guest] > 0
}

func (h *hall) leave(guest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside[guest]--; h.inside[guest] == 0 {
		delete(h.inside, guest)
		if h.alone == guest {
			h.alone = ""
		}
	}
	h.changed.Broadcast()
}
