// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Change is the difference between two snapshots that may let rules delete objects that were kept before. Create it with Since.
type Change struct {
	snapshot, before *Snapshot
	namespaces       []string // known to both, with changed labels, overrides, holds or quotas
	vetoes           []veto   // of policies that were deleted or have changed
}

// veto is a policy that kept objects, and may no longer keep them.
type veto struct {
	policy *Policy // before the change
	kinds  sets.Set[schema.GroupKind]
	reach  sets.Set[string] // where it applied
}

// Since compares a snapshot with an earlier one.
func (b *Snapshot) Since(before *Snapshot) Change {
	c := Change{snapshot: b, before: before, namespaces: b.Changed(before)}
	for _, was := range before.policies {
		now := b.named[was.Name]
		kinds := was.frees(now)
		if was.unfreezes(now) {
			kinds = sets.New(b.Kinds()...)
		}
		if len(kinds) > 0 {
			c.vetoes = append(c.vetoes, veto{was, kinds, before.reach(was)})
		}
	}
	return c
}

// None reports whether no difference may let a rule delete more.
func (c Change) None() bool { return len(c.namespaces)+len(c.vetoes) == 0 }

// Concerns reports whether any version of a policy may delete objects that were kept before. Changes of the policy itself do not
// count.
func (c Change) Concerns(p *Policy) bool {
	if p.Namespace == "" && len(c.namespaces) > 0 || slices.Contains(c.namespaces, p.Namespace) {
		return true
	}
	return slices.ContainsFunc(c.vetoes, func(v veto) bool {
		return v.policy.Name != p.Name && (p.Namespace == "" || v.reach.Has(p.Namespace))
	})
}

// Changed are the namespaces known to both snapshots whose labels, overrides, hold or quotas differ. Quotas are compared only if
// both snapshots know them, because unknown quotas limit nothing.
func (b *Snapshot) Changed(before *Snapshot) []string {
	var changed []string
	for name, n := range b.namespaces {
		was, known := before.namespaces[name]
		if was.Quotas == nil || n.Quotas == nil {
			was.Quotas, n.Quotas = nil, nil
		}
		if known && !(n.Equal(was) && sameOverrides(b.Overrides(name), before.Overrides(name))) {
			changed = append(changed, name)
		}
	}
	return changed
}

// Scope are the namespaces where a policy may delete objects that were kept before, "" for cluster-scoped objects. It ignores
// changes of the policy itself.
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
	if slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.Capacity.Fair }) && slices.ContainsFunc(c.namespaces, func(namespace string) bool {
		return c.snapshot.applies(p, namespace) && !c.before.applies(p, namespace)
	}) {
		scope = scope.Union(c.snapshot.reach(p)) // the objects of a namespace take capacity from those of all others
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

// frees reports whether a policy may delete objects in a changed namespace that were kept before.
func (c Change) frees(p *Policy, kinds sets.Set[schema.GroupKind], namespace string) bool {
	was, is := c.before.namespaces[namespace], c.snapshot.namespaces[namespace]
	switch {
	case !c.before.applies(p, namespace), was.Held && !is.Held,
		!sameOverrides(c.before.overridesAbout(p, kinds, namespace), c.snapshot.overridesAbout(p, kinds, namespace)):
		return true
	case was.Quotas != nil && is.Quotas != nil && !maps.Equal(was.Quotas, is.Quotas) && slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.Capacity.ByQuota }):
		return true
	case maps.Equal(was.Labels, is.Labels):
		return false
	}
	return slices.ContainsFunc(c.before.policies, func(other *Policy) bool {
		return other.Name != p.Name && c.before.applies(other, namespace) && !c.snapshot.applies(other, namespace) &&
			(len(other.freezesOfAll()) > 0 || other.mayKeep(kinds))
	})
}

// mayKeep reports whether a policy has a rule about one of some kinds that is not a dry run.
func (p *Policy) mayKeep(kinds sets.Set[schema.GroupKind]) bool {
	return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return !r.dryRun() && kinds.Has(StoredAs(r.Kind)) })
}

// reach are the known, unprotected namespaces where a policy applies, and "" for cluster-scoped objects.
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

// Reach are the known, unprotected namespaces where a policy applies.
func (b *Snapshot) Reach(p *Policy) sets.Set[string] { return b.reach(p).Delete("") }

// frees are the kinds of which a policy may keep fewer objects than before; now is its current version, or nil if it was deleted.
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

// unfreezes reports whether a freeze of all policies no longer applies somewhere; now is the current version of the policy, or nil
// if it was deleted.
func (p *Policy) unfreezes(now *Policy) bool {
	return p != now && slices.ContainsFunc(p.Freezes, func(f Freeze) bool {
		return f.All && (now == nil || !now.everywhere(p) || !f.isIn(now.Freezes))
	})
}

// everywhere reports whether a policy applies in all namespaces where another policy, or an earlier version of it, applies.
func (p *Policy) everywhere(was *Policy) bool {
	return p == was || p.Namespace != "" || p.Namespaces.String() == was.Namespaces.String() && was.Excluded.IsSuperset(p.Excluded)
}

// keepsLike reports whether a rule keeps all objects that an earlier version kept: it is the same, suspended, or has a longer
// time to live or more freezes. It ignores permissions, and how the rule deletes.
func (r *Rule) keepsLike(was *Rule) bool {
	if r == was {
		return true
	}
	is := *r
	is.Events, is.Ledger, is.Propagation = was.Events, was.Ledger, was.Propagation
	is.MarksSince, is.MarksSinceIn = was.MarksSince, was.MarksSinceIn // a changed MarksSince can only invalidate marks
	is.Unpermitted, is.Unwatched, is.ServiceAccount = was.Unpermitted, was.Unwatched, was.ServiceAccount
	if is.Mode == v1alpha1.Suspend {
		is.Mode = was.Mode
	}
	if was.TTL >= 0 { // a negative TTL means none, which keeps longer than any TTL
		is.TTL = min(is.TTL, was.TTL)
	}
	if !slices.ContainsFunc(was.Freezes, func(f Freeze) bool { return !f.isIn(r.Freezes) }) {
		is.Freezes = was.Freezes
	}
	return is.sameSettings(was)
}

// overridesAbout are the overrides in a namespace of a policy, and of others that may keep its objects. An override without a policy
// name may mean any policy.
func (b *Snapshot) overridesAbout(p *Policy, kinds sets.Set[schema.GroupKind], namespace string) []*Override {
	return slices.DeleteFunc(slices.Clone(b.Overrides(namespace)), func(o *Override) bool {
		other := b.named[o.Policy]
		return o.Policy != "" && o.Policy != p.Name && (other == nil || !other.mayKeep(kinds))
	})
}
