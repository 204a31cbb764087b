package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Gate is where rules in force wait until it is known that they delete no more than Approval allows, or somebody has
// approved it. Meanwhile they keep what they find eligible.
type Gate struct {
	Hash       string           // what approves it
	Namespaces sets.Set[string] // nil means all; otherwise those where the rules apply anew
	Rules      sets.Set[string] // nil means all; otherwise those that have never been counted
}

// Covers reports whether a rule waits in a namespace.
func (g *Gate) Covers(namespace, rule string) bool {
	return g != nil && (g.Namespaces == nil || g.Namespaces.Has(namespace)) && (g.Rules == nil || g.Rules.Has(rule))
}

// NewScopeGate is a gate for namespaces where the rules of a policy of that hash apply anew.
func NewScopeGate(hash string, namespaces sets.Set[string]) *Gate {
	names := sets.List(namespaces)
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat([]string{hash}, names), "\n")))
	return &Gate{Hash: hex.EncodeToString(sum[:8]), Namespaces: namespaces}
}

// atLeast is how many objects must be due before their part of all matters.
const atLeast = 10

// Exceeded reports whether so many that are due at once, of those selected, are more than may go unseen.
func (a Approval) Exceeded(due, selected int64) bool {
	return due > a.Count || due >= atLeast && due*100 > a.Percent*selected
}

// Rescoped gives the namespaces known to both books in which a policy applies now and did not, or in which other
// overrides apply to it.
func (b *Book) Rescoped(before *Book, p *Policy) sets.Set[string] {
	rescoped := sets.New[string]()
	for namespace := range b.namespaces {
		if _, known := before.namespaces[namespace]; !known || !b.applies(p, namespace) {
			continue
		}
		if !before.applies(p, namespace) || !sameOverrides(before.overridesOf(p, namespace), b.overridesOf(p, namespace)) {
			rescoped.Insert(namespace)
		}
	}
	return rescoped
}

// overridesOf are those of a namespace that are about a ClusterRetentionPolicy. One without a policy may mean any.
func (b *Book) overridesOf(p *Policy, namespace string) []*Override {
	return slices.DeleteFunc(slices.Clone(b.overrides[namespace]), func(o *Override) bool {
		return p.Namespace != "" || o.Policy != "" && o.Policy != p.Name
	})
}
