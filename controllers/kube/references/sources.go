package references

import (
	"slices"
	"strings"
)

// Source is what an Index knows of one source.
type Source struct {
	From      SourceID
	To        []Kind // what it may refer to
	Doubted   []Kind // of which it is not known completely what it refers to
	Referrers int    // objects, those included that refer to nothing
}

// Sources are all sources, by name.
func (x *Index) Sources() []Source {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]Source, 0, len(x.froms))
	for name, f := range x.froms {
		s := Source{From: name, To: slices.Clone(f.to), Referrers: len(f.referrers)}
		s.Doubted = slices.DeleteFunc(slices.Clone(f.to), func(k Kind) bool { return !f.isDoubted(k) })
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Source) int { return strings.Compare(string(a.From), string(b.From)) })
	return all
}

// Len is how many references there are to targets of a kind, as far as they are known.
func (x *Index) Len(kind Kind) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.edges[kind]
}
