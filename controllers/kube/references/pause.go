// SPDX-License-Identifier: Apache-2.0

package references

import (
	"fmt"
	"slices"
)

// Pause records that changes of a source are not reported for now. The known references of the source still count and are not in
// doubt, but they may be out of date.
func (x *Index) Pause(name SourceID) { x.pause(name, true) }

// Resume records that changes of a source are reported again, and that all earlier changes have been reported.
func (x *Index) Resume(name SourceID) { x.pause(name, false) }

func (x *Index) pause(name SourceID, paused bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.sources[name]; f != nil {
		f.paused = paused
	}
}

// Paused returns why the known references to a kind may be out of date right now; nil if they are not. Of several reasons it
// returns one. Sources in doubt do not count as paused.
func (x *Index) Paused(kind Kind) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var first SourceID
	for name, f := range x.sources {
		if f.paused && f.lost == nil && slices.Contains(f.about, kind) && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("the references to %s objects may be out of date: the watch of %s is interrupted", kind, first)
}
