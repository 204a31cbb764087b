package references

// Remembered is how many targets are known, and how many of them were left by their last reference.
func (x *Index) Remembered() (targets, left int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.targets), len(x.left)
}
