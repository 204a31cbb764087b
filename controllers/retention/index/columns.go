// SPDX-License-Identifier: Apache-2.0

package index

import "slices"

// Columns says which facts a row knows. Only rows with the same Columns can be compared. Create it with NewColumns.
type Columns struct {
	first    *Columns // the columns before these; nil for none
	keys     []string
	position map[string]int
}

// NewColumns returns columns for facts with these keys, in this order.
func NewColumns(keys ...string) *Columns { return (*Columns)(nil).And(keys...) }

// And returns these columns, which it shares, and further ones behind them.
func (l *Columns) And(keys ...string) *Columns {
	more := &Columns{first: l, keys: keys, position: make(map[string]int, len(keys))}
	for i, key := range keys {
		more.position[key] = l.len() + i
	}
	return more
}

func (l *Columns) len() int {
	if l == nil {
		return 0
	}
	return l.first.len() + len(l.keys)
}

// Keys returns the keys, in order.
func (l *Columns) Keys() []string {
	if l == nil {
		return nil
	}
	return slices.Concat(l.first.Keys(), l.keys)
}

// key returns the key of a column.
func (l *Columns) key(column int) string {
	if n := l.first.len(); column >= n {
		return l.keys[column-n]
	}
	return l.first.key(column)
}

// column returns the position of the facts under a key; -1 for none.
func (l *Columns) column(key string) int {
	for ; l != nil; l = l.first {
		if c, ok := l.position[key]; ok {
			return c
		}
	}
	return -1
}

// Has reports whether there is a column for a key.
func (l *Columns) Has(key string) bool { return l.column(key) >= 0 }

// Covers reports whether rows of this layout have all columns of another.
func (l *Columns) Covers(o *Columns) bool {
	for ; o != nil && o != l && o != l.first; o = o.first {
		if slices.ContainsFunc(o.keys, func(key string) bool { return !l.Has(key) }) {
			return false
		}
	}
	return true
}
