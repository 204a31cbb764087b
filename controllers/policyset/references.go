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
		return cmp.Or(cmp.Compare(a.From.String(), b.From.String()), cmp.Compare(a.To, b.To), cmp.Compare(a.Names, b.Names))
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

// referred returns the kinds whose references some rule reads.
func referred(entries []*entry) []references.Kind {
	all := sets.New[references.Kind]()
	for _, e := range entries {
		for _, r := range e.policy.Rules {
			if r.ReadsReferences && !r.Invalid() {
				all.Insert(references.Kind(r.Kind.Kind))
			}
		}
	}
	return sets.List(all)
}

// declare records what policies declare now. It returns the kinds that may have fewer references than before, because a
// declaration that referred to them, or may have, no longer exists.
func (l *Reconciler) declare(entries []*entry) (fewer sets.Set[references.Kind]) {
	declared := declared(entries)
	fewer = sets.New[references.Kind]()
	for _, d := range l.references {
		if !slices.Contains(declared, d) {
			fewer.Insert(d.To)
		}
	}
	invalid := invalidReferences(entries)
	for _, m := range l.invalidReferences {
		if !slices.Contains(invalid, m) {
			fewer.Insert(m.Kinds()...)
		}
	}
	l.invalidReferences = invalid
	if l.referencesSince.IsZero() || !slices.Equal(declared, l.references) {
		l.references, l.referencesSince = declared, l.Clock.Now()
	}
	return fewer
}

// readsReferences reports whether a rule of the policy reads the references to any of the kinds.
func readsReferences(p *policy.Policy, kinds sets.Set[references.Kind]) bool {
	return slices.ContainsFunc(p.Rules, func(r *policy.Rule) bool {
		return r.ReadsReferences && kinds.Has(references.Kind(r.Kind.Kind))
	})
}
