package policy

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Change is what differs between two snapshots that may let rules delete what was kept before. Create it with Since.
type Change struct {
	snapshot, before *Snapshot
	namespaces       []string // known to both, with other labels, overrides, holds or quotas
	vetoes           []veto   // of policies that are gone, or say something else
}

// veto is what a policy kept, and may keep no longer.
type veto struct {
	policy *Policy // as it was
	kinds  sets.Set[schema.GroupKind]
	reach  sets.Set[string] // where it applied
}

// Since compares a snapshot with the one before it.
func (b *Snapshot) Since(before *Snapshot) Change {
	c := Change{snapshot: b, before: before, namespaces: b.Changed(before)}
	for _, was := range before.policies {
		if kinds := was.frees(b.named[was.Name]); len(kinds) > 0 {
			c.vetoes = append(c.vetoes, veto{was, kinds, before.reach(was)})
		}
	}
	return c
}

// None reports whether nothing differs that may let anything go.
func (c Change) None() bool { return len(c.namespaces)+len(c.vetoes) == 0 }

// Concerns reports whether a policy, in whatever form, may delete what was kept before. Its own new form does not count.
func (c Change) Concerns(p *Policy) bool {
	if p.Namespace == "" && len(c.namespaces) > 0 || slices.Contains(c.namespaces, p.Namespace) {
		return true
	}
	return slices.ContainsFunc(c.vetoes, func(v veto) bool {
		return v.policy.Name != p.Name && (p.Namespace == "" || v.reach.Has(p.Namespace))
	})
}

// Changed are the namespaces known to both snapshots whose labels, overrides, hold or quotas differ. Quotas are not compared
// that were not known, or are not any more: those bound nothing.
func (b *Snapshot) Changed(before *Snapshot) []string {
	var changed []string
	for name, n := range b.namespaces {
		was, known := before.namespaces[name]
		if was.Quotas == nil || n.Quotas == nil {
			was.Quotas, n.Quotas = nil, nil
		}
		if known && !(n.Equal(was) && sameOverrides(b.overrides[name], before.overrides[name])) {
			changed = append(changed, name)
		}
	}
	return changed
}

// Scope is where a policy may delete what was kept before, "" among cluster-scoped objects. What its own new form does is
// not looked at.
func (c Change) Scope(p *Policy) sets.Set[string] {
	scope := sets.New[string]()
	kinds := sets.New[schema.GroupKind]()
	for _, r := range p.Rules {
		kinds.Insert(StoredAs(r.Kind))
	}
	for _, namespace := range c.namespaces {
		if c.snapshot.applies(p, namespace) && c.frees(p, kinds, namespace) {
			scope.Insert(namespace)
		}
	}
	for _, v := range c.vetoes {
		if v.policy.Name == p.Name || !v.kinds.HasAny(kinds.UnsortedList()...) {
			continue
		}
		for namespace := range v.reach {
			if c.snapshot.applies(p, namespace) {
				scope.Insert(namespace)
			}
		}
	}
	return scope
}

// frees reports whether a policy may delete in a changed namespace what was kept there before.
func (c Change) frees(p *Policy, kinds sets.Set[schema.GroupKind], namespace string) bool {
	was, is := c.before.namespaces[namespace], c.snapshot.namespaces[namespace]
	switch {
	case !c.before.applies(p, namespace), was.Held && !is.Held,
		!sameOverrides(c.before.overridesOf(p, namespace), c.snapshot.overridesOf(p, namespace)):
		return true
	case was.Quotas != nil && is.Quotas != nil && !maps.Equal(was.Quotas, is.Quotas) && slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.Capacity.ByQuota }):
		return true
	case maps.Equal(was.Labels, is.Labels):
		return false
	}
	return slices.ContainsFunc(c.before.policies, func(other *Policy) bool {
		return other.Name != p.Name && c.before.applies(other, namespace) && !c.snapshot.applies(other, namespace) &&
			slices.ContainsFunc(other.Rules, func(r *Rule) bool { return !r.dryRun() && kinds.Has(StoredAs(r.Kind)) })
	})
}

// reach is where a policy applies, "" among cluster-scoped objects, of the namespaces that are known and not protected.
func (b *Snapshot) reach(p *Policy) sets.Set[string] {
	all := sets.New[string]()
	if p.Namespace == "" {
		all.Insert("")
	}
	for namespace := range b.namespaces {
		if b.applies(p, namespace) && !b.protection.Namespace(namespace) {
			all.Insert(namespace)
		}
	}
	return all
}

// Reach is where a policy applies, of the namespaces that are known and not protected.
func (b *Snapshot) Reach(p *Policy) sets.Set[string] { return b.reach(p).Delete("") }

// frees are the kinds of which a policy may keep less than before, once it is what it is now; nil for none any more.
func (p *Policy) frees(now *Policy) sets.Set[schema.GroupKind] {
	if p == now {
		return nil
	}
	kinds := sets.New[schema.GroupKind]()
	rules := map[RuleID]*Rule{}
	if now != nil && now.UID == p.UID && now.everywhere(p) {
		for _, r := range now.Rules {
			rules[r.ID] = r
		}
	}
	for _, r := range p.Rules {
		if is := rules[r.ID]; !r.dryRun() && r.Kind.Kind != "" && (is == nil || !is.keepsLike(r)) {
			kinds.Insert(StoredAs(r.Kind))
		}
	}
	return kinds
}

// everywhere reports whether a policy applies wherever another does, which may be the same policy as it was.
func (p *Policy) everywhere(was *Policy) bool {
	return p == was || p.Namespace != "" || p.Namespaces.String() == was.Namespaces.String() && was.Excluded.IsSuperset(p.Excluded)
}

// keepsLike reports whether a rule keeps what it kept as it was: it is the same, suspended, or has a longer time to live. How
// it deletes, and what it may do for now, is no matter.
func (r *Rule) keepsLike(was *Rule) bool {
	if r == was {
		return true
	}
	is := *r
	is.Events, is.Ledger, is.Propagation = was.Events, was.Ledger, was.Propagation
	is.MarksSince, is.MarksSinceIn = was.MarksSince, was.MarksSinceIn // marks only come to count for less
	is.Unpermitted, is.Unwatched, is.ServiceAccount = was.Unpermitted, was.Unwatched, was.ServiceAccount
	if is.Mode == v1alpha1.Suspended {
		is.Mode = was.Mode
	}
	if was.TTL >= 0 { // a rule without a TTL, which is negative, keeps longer than one with any
		is.TTL = min(is.TTL, was.TTL)
	}
	return is.sameSettings(was)
}

// overridesOf are those of a namespace that are about a ClusterRetentionPolicy. One without a policy may mean any.
func (b *Snapshot) overridesOf(p *Policy, namespace string) []*Override {
	return slices.DeleteFunc(slices.Clone(b.overrides[namespace]), func(o *Override) bool {
		return p.Namespace != "" || o.Policy != "" && o.Policy != p.Name
	})
}
