package references

import (
	"fmt"
	"slices"
)

// Pause says that what happens to the referrers of a source is not told for now. What it has told still counts: nothing of
// it is in doubt, and it may be out of date.
func (x *Index) Pause(name SourceID) { x.pause(name, true) }

// Resume says that what happens to the referrers of a source is told again, and that nothing is left to be told of before.
func (x *Index) Resume(name SourceID) { x.pause(name, false) }

func (x *Index) pause(name SourceID, paused bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.froms[name]; f != nil {
		f.paused = paused
	}
}

// Paused is why what is known of a kind may be out of date right now, one reason of perhaps many; nil when it is not. What
// is in doubt is not paused.
func (x *Index) Paused(kind Kind) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var first SourceID
	for name, f := range x.froms {
		if f.paused && f.lost == nil && slices.Contains(f.to, kind) && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return nil
	}
	return fmt.Errorf("the references to %s objects are not watched for a moment: %s", kind, first)
}
