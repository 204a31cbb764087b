// SPDX-License-Identifier: Apache-2.0

package references

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/engine/builtin"
	"github.com/sunset-k8s/sunset/policy"
)

// Kind is a kind of objects, in the form of schema.GroupKind: ConfigMap, Deployment.apps.
type Kind string

// Two kinds that are often referred to.
const (
	ConfigMap Kind = "ConfigMap"
	Secret    Kind = "Secret"
)

// KindOf returns the Kind of objects, at any version.
func KindOf(kind schema.GroupKind) Kind { return Kind(kind.String()) }

// GroupKind is the inverse of KindOf.
func (k Kind) GroupKind() schema.GroupKind { return schema.ParseGroupKind(string(k)) }

// The tables of package builtin, by Kind, so that an edge is looked up without parsing.
var (
	referredKinds = kindsOf(builtin.Referred)
	possibleKinds = func() map[Kind]sets.Set[Kind] {
		all := map[Kind]sets.Set[Kind]{}
		for from := range builtin.Referring {
			all[KindOf(from)] = kindsOf(builtin.Possible(from))
		}
		return all
	}()
)

func kindsOf(all sets.Set[schema.GroupKind]) sets.Set[Kind] {
	kinds := sets.New[Kind]()
	for kind := range all {
		kinds.Insert(KindOf(kind))
	}
	return kinds
}

// Asked is the kinds that rules ask about, and what they ask.
type Asked map[Kind]policy.Relations

// Kinds returns the kinds, sorted. The slice is the caller's.
func (a Asked) Kinds() []Kind { return slices.Sorted(maps.Keys(a)) }

// Add adds what the rules of a policy ask.
func (a Asked) Add(rules []*policy.Rule) {
	for _, r := range rules {
		if r.ReadsReferences() && !r.Invalid() {
			a[KindOf(r.Kind.GroupKind())] |= r.Relations
		}
	}
}

// Declared says how objects of a kind refer to others: by name, or by a label selector.
type Declared struct {
	From     schema.GroupVersionKind
	To       Kind
	Names    string // CEL: a list of names in the object's namespace, or of maps with name and namespace
	Selector string // CEL: a LabelSelector for objects in the object's namespace, or null; if Names is empty
	Possible bool   // the named objects need not exist, so that they are not missing
}

// About returns the kinds about which rules ask something that depends on the declaration, sorted.
func (d Declared) About(asked Asked) (all []Kind) {
	return about(asked, KindOf(d.From.GroupKind()), d.To, d.answers())
}

// Answered returns what rules can ask because of some declarations.
func Answered(all []Declared) Asked {
	answered := Asked{}
	for _, d := range all {
		answers := d.answers()
		if own := answers &^ policy.AsksReferences; own != 0 {
			answered[KindOf(d.From.GroupKind())] |= own
		}
		if answers.Has(policy.AsksReferences) {
			answered[d.To] |= policy.AsksReferences
		}
	}
	return answered
}

// answers returns what the declaration tells rules: references about To, the others about the kind of From.
func (d Declared) answers() policy.Relations {
	switch {
	case d.Selector != "":
		return policy.AsksSelected
	case d.Possible:
		return policy.AsksReferences
	}
	return policy.AsksReferences | policy.AsksTargets
}

// about returns the kinds about which rules ask something that depends on what objects of a kind say about another one: the answers to
// references of the other kind, and to targets and selected of their own. An empty kind may be any kind.
func about(asked Asked, from, to Kind, answers policy.Relations) (all []Kind) {
	for _, kind := range asked.Kinds() {
		needed := asked[kind] & answers
		referred := needed.Has(policy.AsksReferences) && (to == kind || to == "")
		if referred || needed.Has(policy.AsksTargets|policy.AsksSelected) && (from == kind || from == "") {
			all = append(all, kind)
		}
	}
	return all
}

// BuiltIn returns the references of Kubernetes itself. The slice is the caller's.
func BuiltIn() []Declared {
	all := builtin.References()
	declared := make([]Declared, len(all))
	for i, r := range all {
		declared[i] = Declared{From: r.From, To: KindOf(r.To), Names: r.Names, Selector: r.Selector, Possible: r.Possible}
	}
	return declared
}
