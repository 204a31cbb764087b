package cri

import (
	"fmt"
	"time"
)

// Why something uses an image.
const (
	ByContainer    = "container"     // one of this image, in any state
	ByVolume       = "image volume"  // a container, in any state, that has it mounted
	BySandbox      = "sandbox"       // the sandbox of a Pod
	ByNextSandbox  = "next sandbox"  // the sandbox of every Pod to come
	ByUnknownState = "unknown state" // what is used is not known
)

// Use is one reason to leave an image alone.
type Use struct {
	By   string // one of the constants above, or the caller's own word
	ID   string // of the container or sandbox, if it is one
	Name string // of the image, as the user of it names it
}

// String is the use in words, for a log.
func (u Use) String() string {
	if u.ID == "" {
		return fmt.Sprintf("%s, as %s", u.By, u.Name)
	}
	return fmt.Sprintf("%s %s, as %s", u.By, u.ID, u.Name)
}

// Uses is what images are used for. The zero Uses knows nothing, and so has every image in use. A copy is the same one.
// It may be read from many goroutines unless Add is called.
type Uses struct {
	by map[string]Use
	// Youngest is when the youngest container or sandbox was created, as the runtime says; zero when there is none.
	Youngest time.Time
}

// NewUses returns uses of no image, to which the caller adds all there are.
func NewUses() Uses { return Uses{by: map[string]Use{}} }

// Of returns why an image is in use, one reason of perhaps many, and whether it is. An image is in use if any of its
// names, or its ID, is one under which something uses an image.
func (u Uses) Of(i Image) (Use, bool) {
	if u.by == nil {
		return Use{By: ByUnknownState, Name: i.ID}, true
	}
	for _, key := range keysOf(i) {
		if use, ok := u.by[key]; ok {
			return use, true
		}
	}
	return Use{}, false
}

// Add adds a use that the runtime does not know of, such as a Pod whose container does not exist yet, by use.Name. The
// first use of a name stays. To the zero Uses nothing can be added: it has every image in use.
func (u Uses) Add(use Use) {
	if use.Name != "" {
		u.addAs(use.Name, use)
	}
}

// addAs adds a use of the image that has a name.
func (u Uses) addAs(name string, use Use) {
	if u.by == nil {
		return
	}
	for _, key := range keys(name) {
		if _, ok := u.by[key]; !ok {
			u.by[key] = use
		}
	}
}
