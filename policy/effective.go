// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// EffectiveRules are the rules that apply to one kind in one namespace, ordered by policy and rule name.
type EffectiveRules struct {
	Rules []*Rule
	Held  bool // the namespace has a hold
}

// WithHold gives a subject as it is in the namespace: held if the namespace has a hold.
func (p *EffectiveRules) WithHold(s Subject) Subject {
	if p.Held {
		s.Flags |= IsHeld
	}
	return s
}

// HasEnforced reports whether any of the rules is not a dry run.
func (p *EffectiveRules) HasEnforced() bool {
	return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return !r.dryRun() })
}

// SameSettings reports whether both give the same verdicts on the same facts.
func (p *EffectiveRules) SameSettings(o *EffectiveRules) bool {
	return p.Held == o.Held && slices.EqualFunc(p.Rules, o.Rules, (*Rule).sameSettings)
}

// Effective gives the rules that apply to a kind in a namespace, "" for cluster-scoped objects. It gives the same pointer for the
// same arguments.
func (b *Snapshot) Effective(kind schema.GroupKind, namespace string) *EffectiveRules {
	key := effectiveKey{kind, namespace}
	b.mu.RLock()
	effective := b.cache[key]
	b.mu.RUnlock()
	if effective != nil {
		return effective
	}
	effective = b.effective(key)
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.cache[key]; known != nil {
		return known
	}
	if b.cache == nil {
		b.cache, b.common = map[effectiveKey]*EffectiveRules{}, map[schema.GroupKind][]*Rule{}
	}
	if common := b.common[kind]; slices.Equal(common, effective.Rules) {
		effective.Rules = common
	}
	b.cache[key], b.common[kind] = effective, effective.Rules
	return effective
}

func (b *Snapshot) effective(s effectiveKey) *EffectiveRules {
	effective := &EffectiveRules{Held: b.namespaces[s.namespace].Held}
	if b.protection.Namespace(s.namespace) {
		return effective
	}
	rules := b.clusterRules(s)
	if own := b.own[s]; s.namespace != "" && len(own) > 0 { // RetentionPolicies of other namespaces do not apply here
		rules = slices.Concat(rules, own)
		slices.SortFunc(rules, byID)
	}
	for _, rp := range rules {
		if b.applies(rp.policy, s.namespace) {
			effective.Rules = append(effective.Rules, b.freeze(b.settle(rp, s.namespace), s.namespace))
		}
	}
	return effective
}

// clusterRules are the rules of ClusterRetentionPolicies that may apply in a namespace. A thousand policies, each for one of a
// thousand namespaces, are not matched a million times.
func (b *Snapshot) clusterRules(s effectiveKey) []rulePolicy {
	all := b.own[effectiveKey{kind: s.kind}]
	n, known := b.namespaces[s.namespace]
	if !known || s.namespace == "" || len(all) == 0 {
		return all
	}
	found := b.selectors[s.kind].Of(maps.All(n.Labels))
	if len(found) == len(all) {
		return all
	}
	some := make([]rulePolicy, len(found))
	for i, at := range found {
		some[i] = all[at]
	}
	return some
}

// waiting is a rule that waits for approval behind the gate of its policy; nil without a gate.
func waiting(r *Rule, p *Policy) *Rule {
	if p.Gate == nil {
		return nil
	}
	behind := *r
	behind.Unapproved, behind.Gate = true, p.Gate
	return &behind
}

// settle gives a rule with its settings in a namespace.
func (b *Snapshot) settle(rp rulePolicy, namespace string) *Rule {
	r := rp.rule
	if r.Namespace == "" {
		r = r.under(b.Overrides(namespace))
	}
	if since, ok := r.MarksSinceIn[namespace]; ok {
		own := *r
		own.MarksSince = since
		r = &own
	}
	switch {
	case !rp.policy.Gate.Covers(namespace, r.ID.Rule):
	case r == rp.rule:
		r = rp.waiting
	default:
		r = waiting(r, rp.policy)
	}
	if !r.Capacity.ByQuota {
		return r
	}
	bounded := *r
	bounded.Capacity = Capacity{}
	if quota, ok := b.namespaces[namespace].quota(r.Kind); ok {
		bounded.Capacity = r.Capacity
		bounded.Capacity.Max = int(min(percentRoundedUp(quota, int64(r.Capacity.Percent)), math.MaxInt))
	}
	return &bounded
}

// applies reports whether a policy applies in a namespace. An unknown namespace may have any label, so it counts as selected;
// Knows tells the caller not to delete there.
func (b *Snapshot) applies(p *Policy, namespace string) bool {
	if p.Namespace != "" || namespace == "" {
		return p.Namespace == namespace
	}
	if p.Excluded.Has(namespace) {
		return false
	}
	n, known := b.namespaces[namespace]
	return !known || p.Namespaces.Matches(n.Labels)
}
