// SPDX-License-Identifier: Apache-2.0

package references

import (
	"slices"
	"strings"
)

// Source is what an Index knows about one source.
type Source struct {
	From      SourceID
	To        []Kind // the kinds that it may refer to
	Doubted   []Kind // the kinds to which its references are not completely known
	Referrers int    // number of objects, including those without references
}

// Sources returns all sources, sorted by name.
func (x *Index) Sources() []Source {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]Source, 0, len(x.sources))
	for name, f := range x.sources {
		s := Source{From: name, To: slices.Clone(f.to), Referrers: len(f.referrers)}
		s.Doubted = slices.DeleteFunc(slices.Clone(f.to), func(k Kind) bool { return !f.isDoubted(k) })
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
