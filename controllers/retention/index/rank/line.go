// SPDX-License-Identifier: Apache-2.0

package rank

import "github.com/google/btree"

// line is an ordered list of members, the newest first. The zero value is empty and small, because there can be two for
// each member.
type line struct{ tree *btree.BTreeG[*member] }

// degree of the trees: a higher one makes changes slower, a lower one needs more memory.
const degree = 16

// nodes keeps no free nodes: to keep some for each line would cost more memory than most lines need.
var nodes = btree.NewFreeListG[*member](0)

func (l *line) add(m *member) {
	if l.tree == nil {
		l.tree = btree.NewWithFreeListG(degree, newer, nodes)
	}
	l.tree.ReplaceOrInsert(m)
}

// remove removes a member of the line.
func (l *line) remove(m *member) { l.tree.Delete(m) }

func (l *line) len() int {
	if l.tree == nil {
		return 0
	}
	return l.tree.Len()
}

// newest returns the first member; the line must not be empty.
func (l *line) newest() *member {
	m, _ := l.tree.Min()
	return m
}

// oldest returns the last member; the line must not be empty.
func (l *line) oldest() *member {
	m, _ := l.tree.Max()
	return m
}
