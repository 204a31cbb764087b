package references

// Remembered is how many targets are known, and how many of them were left by their last reference.
func (x *Index) Remembered() (targets, left int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.targets), len(x.left)
}

// ChangedAtMost bounds how many targets wait to be taken.
const ChangedAtMost = changedAtMost

// Waiting is how many wait.
func (x *Index) Waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.changed)
}
