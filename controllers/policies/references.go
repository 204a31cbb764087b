package policies

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/references"
	"github.com/sunset-k8s/sunset/policy"
)

// declared are the referrers that policies declare, each once, in order. What is invalid says nothing.
func (l *Loop) declared() []references.Declared {
	var all []references.Declared
	for _, e := range l.entries() {
		for _, r := range e.policy.References {
			if !r.Invalid {
				all = append(all, references.Declared{From: r.From, To: references.Kind(r.To), Names: r.Names})
			}
		}
	}
	slices.SortFunc(all, func(a, b references.Declared) int {
		return cmp.Or(cmp.Compare(a.From.String(), b.From.String()), cmp.Compare(a.To, b.To), cmp.Compare(a.Names, b.Names))
	})
	return slices.Compact(all)
}

// referred are the kinds about which some rule asks what refers to them.
func (l *Loop) referred() []references.Kind {
	all := sets.New[references.Kind]()
	for _, e := range l.entries() {
		for _, r := range e.policy.Rules {
			if r.ReadsReferences && !r.Invalid() {
				all.Insert(references.Kind(r.Kind.Kind))
			}
		}
	}
	return sets.List(all)
}

// declare notes what policies declare by now, and gives the kinds that may have fewer references than before: those to
// which something was declared to refer that is no more.
func (l *Loop) declare() (fewer sets.Set[references.Kind]) {
	declared := l.declared()
	fewer = sets.New[references.Kind]()
	for _, d := range l.references {
		if !slices.Contains(declared, d) {
			fewer.Insert(d.To)
		}
	}
	if l.referencesSince.IsZero() || !slices.Equal(declared, l.references) {
		l.references, l.referencesSince = declared, l.Clock.Now()
	}
	return fewer
}

// readsReferences reports whether a rule of the policy asks what refers to objects of any of the kinds.
func readsReferences(p *policy.Policy, kinds sets.Set[references.Kind]) bool {
	return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool {
		return r.ReadsReferences && kinds.Has(references.Kind(r.Kind.Kind))
	})
}
