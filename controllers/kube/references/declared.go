// SPDX-License-Identifier: Apache-2.0

package references

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// InvalidReference is an invalid declaration of references in a policy. The declared objects may refer to any target.
type InvalidReference struct {
	From SourceID
	Of   Kind // the kind of the referring objects; empty if unknown
	To   Kind // the kind of the targets; empty if unknown
	Why  string
}

// About returns the kinds about which rules ask something that may depend on the declaration, sorted.
func (m InvalidReference) About(asked Asked) []Kind {
	return about(asked, m.Of, m.To, policy.AsksReferences|policy.AsksTargets|policy.AsksSelected)
}

// ValidReferences returns the valid declarations of references in a policy.
func ValidReferences(p *policy.Policy) []Declared {
	var all []Declared
	for _, r := range p.References {
		if !r.Invalid {
			all = append(all, Declared{From: r.From, To: Kind(r.To), Names: r.Names, Selector: r.Selector})
		}
	}
	return all
}

// InvalidReferences returns the invalid declarations of references in a policy.
func InvalidReferences(p *policy.Policy) []InvalidReference {
	var all []InvalidReference
	for _, m := range p.InvalidReferences() {
		r := InvalidReference{From: SourceID(m.Path + " of policy " + p.Name), To: Kind(m.To), Why: m.Why}
		if m.From != (schema.GroupKind{}) {
			r.Of = KindOf(m.From)
		}
		all = append(all, r)
	}
	return all
}
