package rank

import "github.com/google/btree"

// line is members, the newest first. The zero value is empty and costs next to nothing: there can be two for each member.
type line struct{ tree *btree.BTreeG[*member] }

// degree of the trees: more makes them slower to change, less makes them larger.
const degree = 16

// nodes of a line that shrinks are garbage: to keep some for each line would cost more than most lines.
var nodes = btree.NewFreeListG[*member](0)

func (l *line) add(m *member) {
	if l.tree == nil {
		l.tree = btree.NewWithFreeListG(degree, newer, nodes)
	}
	l.tree.ReplaceOrInsert(m)
}

// remove takes out a member of the line.
func (l *line) remove(m *member) { l.tree.Delete(m) }

func (l *line) len() int {
	if l.tree == nil {
		return 0
	}
	return l.tree.Len()
}

// newest is the first member; the line must not be empty.
func (l *line) newest() *member {
	m, _ := l.tree.Min()
	return m
}

// oldest is the last member; the line must not be empty.
func (l *line) oldest() *member {
	m, _ := l.tree.Max()
	return m
}
