// SPDX-License-Identifier: Apache-2.0

package references

// Remembered returns how many targets are known, and how many of their removals are kept.
func (x *Index) Remembered() (targets, left int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.targets), len(x.tombstones)
}

// ChangedAtMost limits how many targets wait for Take.
const ChangedAtMost = changedAtMost

// Waiting returns how many targets wait for Take.
func (x *Index) Waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.changed)
}

// LabelIndexes returns for how many kinds and namespaces there are labels or selectors.
func (x *Index) LabelIndexes() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.labels)
}
