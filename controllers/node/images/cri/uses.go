// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"fmt"
	"time"
)

// The values of Use.By.
const (
	ByContainer    = "container"     // a container of this image, in any state
	ByVolume       = "image volume"  // a container, in any state, that has it mounted
	BySandbox      = "sandbox"       // the sandbox of a Pod
	ByNextSandbox  = "next sandbox"  // the sandbox of every future Pod
	ByUnknownState = "unknown state" // the uses are unknown
)

// Use is one reason to keep an image.
type Use struct {
	By   string // one of the constants above, or the caller's own value
	ID   string // of the container or sandbox, if it is one
	Name string // name of the image in the container, sandbox or Pod
}

// String returns the use in words, for a log.
func (u Use) String() string {
	if u.ID == "" {
		return fmt.Sprintf("%s, as %s", u.By, u.Name)
	}
	return fmt.Sprintf("%s %s, as %s", u.By, u.ID, u.Name)
}

// Uses is everything that uses images. In the zero value the uses are unknown, and every image counts as used. A copy shares
// its entries with the original. Concurrent reads are safe unless Add is called.
type Uses struct {
	by map[string]Use
	// Youngest is when the youngest container or sandbox was created, as the runtime reports; zero if there is none.
	Youngest time.Time
}

// NewUses returns an empty Uses, to which the caller must add all uses.
func NewUses() Uses { return Uses{by: map[string]Use{}} }

// Of returns one of the uses of an image, and whether it is in use. An image is in use if something uses one of its names or
// its ID.
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

// Add adds a use of use.Name that the runtime does not know, such as a Pod whose container does not exist yet. The first use of
// a name stays. It has no effect on the zero value, in which every image counts as used.
func (u Uses) Add(use Use) {
	if use.Name != "" {
		u.addAs(use.Name, use)
	}
}

// addAs adds a use of the image with a name.
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
