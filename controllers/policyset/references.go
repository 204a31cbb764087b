// SPDX-License-Identifier: Apache-2.0

package policyset

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/controllers/kube/references"
	"github.com/sunset-k8s/sunset/policy"
)

// declared returns the referrers that policies declare, each once and in order.
func declared(entries []*entry) []references.Declared {
	var all []references.Declared
	for _, e := range entries {
		all = append(all, references.ValidReferences(e.policy)...)
	}
	slices.SortFunc(all, func(a, b references.Declared) int {
		return cmp.Or(cmp.Compare(a.From.String(), b.From.String()), cmp.Compare(a.To, b.To), cmp.Compare(a.Names, b.Names), cmp.Compare(a.Selector, b.Selector))
	})
	return slices.Compact(all)
}

// invalidReferences returns the invalid declarations of referrers, in order.
func invalidReferences(entries []*entry) []references.InvalidReference {
	var all []references.InvalidReference
	for _, e := range entries {
		all = append(all, references.InvalidReferences(e.policy)...)
	}
	slices.SortFunc(all, func(a, b references.InvalidReference) int { return cmp.Compare(a.From, b.From) })
	return all
}

// asked returns what rules ask about references.
func asked(entries []*entry) references.Asked {
	all := references.Asked{}
	for _, e := range entries {
		all.Add(e.policy.Rules)
	}
	return all
}

// declare records what policies declare now. It returns the kinds of which more objects may be eligible than before: those with
// fewer references or selected objects, because a declaration no longer exists, and those with more targets, which may be missing.
func (l *Reconciler) declare(entries []*entry, asked references.Asked) (affected sets.Set[references.Kind]) {
	declared := declared(entries)
	targets := references.Asked{}
	for kind, relations := range asked {
		targets[kind] = relations & policy.AsksTargets
	}
	affected = sets.New[references.Kind]()
	for _, d := range l.references {
		if !slices.Contains(declared, d) {
			affected.Insert(d.About(asked)...)
		}
	}
	if !l.referencesSince.IsZero() {
		for _, d := range declared {
			if !slices.Contains(l.references, d) {
				affected.Insert(d.About(targets)...)
			}
		}
	}
	invalid := invalidReferences(entries)
	for _, m := range l.invalidReferences {
		if !slices.Contains(invalid, m) {
			affected.Insert(m.About(asked)...)
		}
	}
	l.invalidReferences = invalid
	if l.referencesSince.IsZero() || !slices.Equal(declared, l.references) {
		l.references, l.referencesSince = declared, l.Clock.Now()
	}
	return affected
}

// readsReferences reports whether a rule of the policy asks about the references of any of the kinds.
func readsReferences(p *policy.Policy, kinds sets.Set[references.Kind]) bool {
	return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool {
		return r.ReadsReferences() && kinds.Has(references.KindOf(r.Kind.GroupKind()))
	})
}
