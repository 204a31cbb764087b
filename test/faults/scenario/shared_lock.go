// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"
	"sync"
)

// sharedLock limits how many scenarios share a control plane. A scenario that needs to be alone waits until all others have left.
type sharedLock struct {
	places int

	mu      sync.Mutex
	changed *sync.Cond
	inside  map[string]int // number of scenarios, by the name of the first test that entered
	alone   string         // test that has the control plane for itself; empty for none
	waiting int            // number of tests that wait to be alone; no other test enters before them
}

// acquire waits for a place and returns the name to leave with. A subtest enters with its parent test if that is inside.
func (h *sharedLock) acquire(test string, alone bool) (guest string) {
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

// host returns the parent of a test that is inside; the test itself if there is none.
func (h *sharedLock) host(test string) string {
	for name := test; name != ""; name = name[:max(0, strings.LastIndex(name, "/"))] {
		if h.inside[name] > 0 {
			return name
		}
	}
	return test
}

func (h *sharedLock) hasPlace(guest string) bool {
	switch {
	case h.inside[guest] > 0:
		return true
	case h.alone != "":
		return false
	default:
		return h.waiting == 0 && len(h.inside) < h.places
	}
}

func (h *sharedLock) onlyHas(guest string) bool {
	return len(h.inside) == 0 || len(h.inside) == 1 && h.inside[guest] > 0
}

func (h *sharedLock) release(guest string) {
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
