package references

// Remembered returns how many targets are known, and how many of their removals are kept.
func (x *Index) Remembered() (targets, left int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.targets), len(x.tombstones)
}

// Len returns the number of known references to targets of a kind.
func (x *Index) Len(kind Kind) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for t, known := range x.targets {
		if t.Kind == kind {
			n += len(known.by)
		}
	}
	return n
}

// Doubt returns why the Index cannot tell which objects of a kind are unreferenced; nil if it can.
func (x *Index) Doubt(kind Kind) error { return x.Of(Target{Kind: kind}).Doubt }

// ChangedAtMost limits how many targets wait for Take.
const ChangedAtMost = changedAtMost

// Waiting returns how many targets wait for Take.
func (x *Index) Waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.changed)
}
