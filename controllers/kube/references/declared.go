package references

import (
	"github.com/sunset-k8s/sunset/policy"
)

// InvalidReference is something that a policy says about referrers and nobody understands: it may refer to anything.
type InvalidReference struct {
	From SourceID
	To   Kind // what it is about; empty where nobody knows
	Why  string
}

// Kinds are those that it may be about.
func (m InvalidReference) Kinds() []Kind {
	if m.To == ConfigMap || m.To == Secret {
		return []Kind{m.To}
	}
	return []Kind{ConfigMap, Secret}
}

// ValidReferences is what a policy says about referrers, as far as it is understood.
func ValidReferences(p *policy.Policy) []Declared {
	var all []Declared
	for _, r := range p.References {
		if !r.Invalid {
			all = append(all, Declared{From: r.From, To: Kind(r.To), Names: r.Names})
		}
	}
	return all
}

// InvalidReferences is what else it says about them.
func InvalidReferences(p *policy.Policy) []InvalidReference {
	var all []InvalidReference
	for _, m := range p.InvalidReferences() {
		all = append(all, InvalidReference{From: SourceID(m.Path + " of policy " + p.Name), To: Kind(m.To), Why: m.Why})
	}
	return all
}
