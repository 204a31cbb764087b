// SPDX-License-Identifier: Apache-2.0

package references

import (
	"slices"
	"strings"
)

// Source is what an Index knows about one source.
type Source struct {
	From      SourceID
	About     []Kind // the kinds that depend on it
	Doubted   []Kind // the kinds about which it is not completely known
	Referrers int    // number of objects, including those without references
}

// Sources returns all sources, sorted by name.
func (x *Index) Sources() []Source {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]Source, 0, len(x.sources))
	for name, f := range x.sources {
		s := Source{From: name, About: slices.Clone(f.about), Referrers: len(f.referrers)}
		s.Doubted = slices.DeleteFunc(slices.Clone(f.about), func(k Kind) bool { return !f.isDoubted(k) })
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(string(a.From), string(b.From)) })
	return all
}

// Len returns the number of known references to targets of a kind.
func (x *Index) Len(kind Kind) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.edges[kind]
}
