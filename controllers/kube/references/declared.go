// SPDX-License-Identifier: Apache-2.0

package references

import (
	"github.com/sunset-k8s/sunset/policy"
)

// InvalidReference is an invalid declaration of references in a policy. The declared objects may refer to any target.
type InvalidReference struct {
	From SourceID
	To   Kind // the kind of the targets; empty if unknown
	Why  string
}

// Kinds returns the possible kinds of the targets.
func (m InvalidReference) Kinds() []Kind {
	if m.To == ConfigMap || m.To == Secret {
		return []Kind{m.To}
	}
	return []Kind{ConfigMap, Secret}
}

// ValidReferences returns the valid declarations of references in a policy.
func ValidReferences(p *policy.Policy) []Declared {
	var all []Declared
	for _, r := range p.References {
		if !r.Invalid {
			all = append(all, Declared{From: r.From, To: Kind(r.To), Names: r.Names})
		}
	}
	return all
}

// InvalidReferences returns the invalid declarations of references in a policy.
func InvalidReferences(p *policy.Policy) []InvalidReference {
	var all []InvalidReference
	for _, m := range p.InvalidReferences() {
		all = append(all, InvalidReference{From: SourceID(m.Path + " of policy " + p.Name), To: Kind(m.To), Why: m.Why})
	}
	return all
}
