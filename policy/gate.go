package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Gate is where rules in force wait until it is known that they delete no more than Approval allows, or somebody has
// approved it. Meanwhile they keep what they find eligible.
type Gate struct {
	Hash       string           // what approves it
	Namespaces sets.Set[string] // nil means all; otherwise those where the rules apply anew
	Rules      sets.Set[string] // nil means all; otherwise those that have never been counted
	Since      time.Time        // with Namespaces: since when they apply there
	Uncounted  sets.Set[string] // with Namespaces: the rules that have never been counted, and wait in all others too
}

// Covers reports whether a rule waits in a namespace.
func (g *Gate) Covers(namespace, rule string) bool {
	return g != nil && (g.Uncounted.Has(rule) ||
		(g.Namespaces == nil || g.Namespaces.Has(namespace)) && (g.Rules == nil || g.Rules.Has(rule)))
}

// Scope is where the rules of a policy apply anew, and since when. The zero value is nowhere.
type Scope struct {
	Namespaces sets.Set[string]
	Since      time.Time // of the latest; it tells one change from the next
}

// Wider is the scope once the policy applies anew in more namespaces, or in the same again. No two are alike, and a status
// can hold their time.
func (s Scope) Wider(namespaces sets.Set[string], now time.Time) Scope {
	since := now.Truncate(time.Microsecond)
	if !since.After(s.Since) {
		since = s.Since.Add(time.Microsecond)
	}
	return Scope{Namespaces: namespaces.Union(s.Namespaces), Since: since}
}

// ApprovalHash approves this form of this object: a copy of the spec in another object, or in another cluster, has another.
func (p *Policy) ApprovalHash() string { return hashOf(string(p.UID), p.Hash) }

// hashOf is a short hash of some lines.
func hashOf(lines ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Gate is the gate for a policy with that approval hash. What approves it approves no later change.
func (s Scope) Gate(hash string) *Gate {
	parts := append([]string{hash, s.Since.UTC().Format(time.RFC3339Nano)}, sets.List(s.Namespaces)...)
	return &Gate{Hash: hashOf(parts...), Namespaces: s.Namespaces, Since: s.Since}
}

// atLeast is how many objects must be due before their part of all matters.
const atLeast = 10

// Exceeded reports whether so many that are due at once, of those selected, are more than may go unseen.
func (a Approval) Exceeded(due, selected int64) bool {
	return due > a.Count || due >= atLeast && due > percentRoundedDown(selected, a.Percent)
}

// Changed are the namespaces known to both books whose labels or overrides differ.
func (b *Book) Changed(before *Book) []string {
	var changed []string
	for name, n := range b.namespaces {
		was, known := before.namespaces[name]
		if known && !(maps.Equal(n.Labels, was.Labels) && sameOverrides(b.overrides[name], before.overrides[name])) {
			changed = append(changed, name)
		}
	}
	return changed
}

// Rescoped are those of the changed namespaces in which a policy applies now and did not, or in which other overrides
// apply to it.
func (b *Book) Rescoped(before *Book, p *Policy, changed []string) sets.Set[string] {
	rescoped := sets.New[string]()
	for _, namespace := range changed {
		if !b.applies(p, namespace) {
			continue
		}
		if !before.applies(p, namespace) || !sameOverrides(before.overridesOf(p, namespace), b.overridesOf(p, namespace)) {
			rescoped.Insert(namespace)
		}
	}
	return rescoped
}

// Reach is where a policy applies, of the namespaces that are known and not protected.
func (b *Book) Reach(p *Policy) sets.Set[string] {
	all := sets.New[string]()
	for namespace := range b.namespaces {
		if b.applies(p, namespace) && !b.protection.Namespace(namespace) {
			all.Insert(namespace)
		}
	}
	return all
}

// overridesOf are those of a namespace that are about a ClusterRetentionPolicy. One without a policy may mean any.
func (b *Book) overridesOf(p *Policy, namespace string) []*Override {
	return slices.DeleteFunc(slices.Clone(b.overrides[namespace]), func(o *Override) bool {
		return p.Namespace != "" || o.Policy != "" && o.Policy != p.Name
	})
}
