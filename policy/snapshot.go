// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot has every policy and every namespace at one moment: which rules apply where. It is immutable and safe for concurrent
// use. The zero value has no policies.
type Snapshot struct {
	policies   []*Policy
	namespaces map[string]Namespace
	protection Protection
	named      map[string]*Policy // policies, by name
	kinds      map[schema.GroupKind][]rulePolicy
	own        map[effectiveKey][]rulePolicy       // the same, by the namespace of the policy
	selectors  map[schema.GroupKind]*SelectorIndex // of namespaces, for the rules of ClusterRetentionPolicies
	versions   map[schema.GroupKind]schema.GroupVersionKind
	tenants    map[string]*tenant           // by namespace
	freezing   []*Policy                    // ClusterRetentionPolicies with freezes of all policies
	past       map[schema.GroupKind][]*Rule // of earlier snapshots whose rules are still evaluated

	mu     sync.RWMutex
	cache  map[effectiveKey]*EffectiveRules
	common map[schema.GroupKind][]*Rule // the latest rules of cache, which most namespaces share
}

type rulePolicy struct {
	rule    *Rule
	policy  *Policy
	waiting *Rule // the rule while it waits for approval: one for all namespaces; nil without a gate
}

type effectiveKey struct {
	kind      schema.GroupKind
	namespace string
}

// NewSnapshot makes a snapshot of policies and all namespaces. It keeps its arguments, which must not change afterwards.
func NewSnapshot(policies []*Policy, namespaces map[string]Namespace, protection Protection) *Snapshot {
	b := &Snapshot{
		policies:   slices.SortedFunc(slices.Values(policies), func(x, y *Policy) int { return cmp.Compare(x.Name, y.Name) }),
		namespaces: namespaces,
		protection: protection,
		named:      map[string]*Policy{},
		kinds:      map[schema.GroupKind][]rulePolicy{},
		own:        map[effectiveKey][]rulePolicy{},
		selectors:  map[schema.GroupKind]*SelectorIndex{},
		versions:   map[schema.GroupKind]schema.GroupVersionKind{},
		tenants:    map[string]*tenant{},
	}
	b.agreeOnVersions()
	b.takeOverrides()
	for _, p := range b.policies {
		b.named[p.Name] = p
		if p.Namespace == "" && len(p.freezesOfAll()) > 0 {
			b.freezing = append(b.freezing, p)
		}
		for _, r := range p.Rules {
			if r.Kind.Kind != "" {
				b.kinds[StoredAs(r.Kind)] = append(b.kinds[StoredAs(r.Kind)], rulePolicy{rule: r, policy: p, waiting: waiting(r, p)})
			}
		}
	}
	for kind, rules := range b.kinds {
		slices.SortFunc(rules, byID)
		for _, rp := range rules {
			at := effectiveKey{kind, rp.policy.Namespace}
			b.own[at] = append(b.own[at], rp)
		}
		var required []RequiredLabels
		for _, rp := range b.own[effectiveKey{kind: kind}] {
			required = append(required, RequiredLabelsOf(rp.policy.Namespaces))
		}
		b.selectors[kind] = NewSelectorIndex(required)
	}
	return b
}

func byID(x, y rulePolicy) int { return x.rule.ID.Compare(y.rule.ID) }

// StoredAs is the kind under which the API server stores objects that it serves under several kinds. Rules about any of these
// kinds apply to the same objects.
func StoredAs(kind schema.GroupVersionKind) schema.GroupKind {
	if kind.Group == "events.k8s.io" && kind.Kind == "Event" {
		return schema.GroupKind{Kind: "Event"}
	}
	return kind.GroupKind()
}

// Policies are all policies, by name.
func (b *Snapshot) Policies() []*Policy { return b.policies }

// Policy is a policy by name; nil if there is none.
func (b *Snapshot) Policy(name string) *Policy { return b.named[name] }

// Kinds are the kinds that rules target, in no particular order.
func (b *Snapshot) Kinds() []schema.GroupKind {
	return slices.Collect(maps.Keys(b.kinds))
}

// Version is the version in which all rules read the kind. The zero value means that no rule reads objects of the kind.
func (b *Snapshot) Version(kind schema.GroupKind) schema.GroupVersionKind { return b.versions[kind] }

// Rules are the rules about a kind in any namespace, by policy and rule name.
func (b *Snapshot) Rules(kind schema.GroupKind) []*Rule {
	rules := make([]*Rule, len(b.kinds[kind]))
	for i, rp := range b.kinds[kind] {
		rules[i] = rp.rule
	}
	return rules
}

// Remember makes Asked include the rules of earlier ClusterRetentionPolicies, so that their decisions can be compared. It
// excludes rules of RetentionPolicies, because each edit by a tenant would add rules. Call it before other goroutines use the
// snapshot.
func (b *Snapshot) Remember(past []*Snapshot) {
	b.past = map[schema.GroupKind][]*Rule{}
	for _, earlier := range past {
		for kind := range b.kinds {
			if earlier.versions[kind] == b.versions[kind] {
				b.past[kind] = append(b.past[kind], slices.DeleteFunc(earlier.Rules(kind), func(r *Rule) bool { return r.Namespace != "" })...)
			}
		}
	}
}

// Past is the snapshot for comparison with later ones: without the Before of its gates, so that it does not retain earlier
// snapshots. It has other versions of some policies, by UID; nil for a policy that it does not have.
func (b *Snapshot) Past(others map[types.UID]*Policy) *Snapshot {
	if len(others) == 0 && !slices.ContainsFunc(b.policies, func(p *Policy) bool { return p.Gate.compares() }) {
		return b
	}
	policies := make([]*Policy, 0, len(b.policies))
	for _, p := range b.policies {
		if other, ok := others[p.UID]; ok {
			p = other
		}
		if p == nil {
			continue
		}
		if p.Gate.compares() {
			gate, waiting := *p.Gate, *p
			gate.Before, gate.BeforeIn, waiting.Gate = nil, nil, &gate
			p = &waiting
		}
		policies = append(policies, p)
	}
	return NewSnapshot(policies, b.namespaces, b.protection)
}

// Asked are the rules about a kind whose facts are needed: those of this snapshot, and the remembered ones of earlier snapshots.
func (b *Snapshot) Asked(kind schema.GroupKind) []*Rule {
	return append(b.Rules(kind), b.past[kind]...)
}

// Knows reports whether the labels of the namespace are known. Otherwise nothing may be deleted there. It is true for
// cluster-scoped objects.
func (b *Snapshot) Knows(namespace string) bool {
	if namespace == "" {
		return true
	}
	_, ok := b.namespaces[namespace]
	return ok
}

// ClusterRules are the rules of ClusterRetentionPolicies that apply in a namespace, with their settings there, by policy and rule
// name. Rules about images of nodes apply in no namespace.
func (b *Snapshot) ClusterRules(namespace string) []*Rule {
	var rules []*Rule
	for kind := range b.kinds {
		for _, r := range b.Effective(kind, namespace).Rules {
			if r.Namespace == "" && !r.OnNodes() {
				rules = append(rules, r)
			}
		}
	}
	slices.SortFunc(rules, func(x, y *Rule) int { return x.ID.Compare(y.ID) })
	return rules
}

// Rule is a rule of a policy without overrides; nil if it does not exist.
func (b *Snapshot) Rule(id RuleID) *Rule {
	if p := b.named[id.Policy]; p != nil {
		for _, r := range p.Rules {
			if r.ID == id {
				return r
			}
		}
	}
	return nil
}

// BoundByQuota reports whether a rule in force in a namespace has a capacity that depends on the quotas of the namespace.
func (b *Snapshot) BoundByQuota(namespace string) bool {
	for _, p := range b.policies {
		for _, r := range p.Rules {
			if r.Capacity.ByQuota && !r.dryRun() && b.applies(p, namespace) {
				return true
			}
		}
	}
	return false
}

// Overrides are the overrides of all RetentionPolicies of a namespace, for any rule.
func (b *Snapshot) Overrides(namespace string) []*Override {
	if t := b.tenants[namespace]; t != nil && !b.protection.Namespace(namespace) {
		return t.overrides
	}
	return nil
}

// Namespace returns the properties of a namespace; ok is false if it is not known.
func (b *Snapshot) Namespace(name string) (n Namespace, ok bool) {
	n, ok = b.namespaces[name]
	return n, ok
}

// Namespaces is the number of known namespaces.
func (b *Snapshot) Namespaces() int { return len(b.namespaces) }
