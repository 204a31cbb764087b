// SPDX-License-Identifier: Apache-2.0

package references

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Doubted is a source that is not completely known.
type Doubted struct {
	From SourceID
	Why  error
}

// Doubts returns the sources whose references to a kind are not completely known, sorted by name, for messages. It returns none if
// all references are known.
func (x *Index) Doubts(kind Kind) []Doubted {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []Doubted
	for name, f := range x.sources {
		if why := f.doubtOf(kind); why != nil {
			all = append(all, Doubted{name, why})
		}
	}
	slices.SortFunc(all, func(a, b Doubted) int { return strings.Compare(string(a.From), string(b.From)) })
	return all
}

// Doubt returns why the Index cannot tell which objects of a kind are unreferenced; nil if it can. Of several reasons it
// returns one.
func (x *Index) Doubt(kind Kind) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.doubt(kind)
}

// doubt returns the first reason by the name of its source, so that the reason stays the same from one call to the next.
func (x *Index) doubt(kind Kind) error {
	if _, complete := x.complete[kind]; complete {
		return nil
	}
	var first SourceID
	var why error
	for name, f := range x.sources {
		if why == nil || name < first {
			if err := f.doubtOf(kind); err != nil {
				first, why = name, err
			}
		}
	}
	if why == nil {
		return fmt.Errorf("the references to %s objects are unknown: no kind is watched; if no policy declares how objects refer to it, write spec.references", kind)
	}
	return fmt.Errorf("some references to %s objects are unknown: %s: %w", kind, first, why)
}

// settle records since when all references to each of the kinds are known, after one of their sources has changed.
func (x *Index) settle(kinds []Kind) {
	for _, kind := range kinds {
		_, was := x.complete[kind]
		switch doubted := x.isDoubted(kind); {
		case doubted:
			delete(x.complete, kind)
		case !was:
			x.complete[kind] = x.clock.Now()
		}
	}
}

// isDoubted reports whether a kind has a source in doubt, or has no source.
func (x *Index) isDoubted(kind Kind) bool {
	sources := 0
	for _, f := range x.sources {
		if !slices.Contains(f.about, kind) {
			continue
		}
		if f.isDoubted(kind) {
			return true
		}
		sources++
	}
	return sources == 0
}

func (f *from) isDoubted(kind Kind) bool { return f.lost != nil || len(f.unread[kind].all) > 0 }

// doubtOf returns why the references of a source to a kind are not completely known; nil if they are.
func (f *from) doubtOf(kind Kind) error {
	if !slices.Contains(f.about, kind) || !f.isDoubted(kind) {
		return nil
	}
	if f.lost != nil {
		return f.lost
	}
	of := f.unread[kind].foremost()
	return fmt.Errorf("%s: %w", pathOf(of.name.Namespace, of.name.Name), of.failure.err)
}

func less(a, b Name) bool {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}
