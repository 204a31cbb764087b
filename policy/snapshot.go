package policy

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Snapshot is every policy and every namespace at one moment: which rules apply where. It is immutable and safe for
// concurrent use. The zero value knows no policy.
type Snapshot struct {
	policies   []*Policy
	namespaces map[string]Namespace
	protection Protection
	named      map[string]*Policy // policies, by name
	kinds      map[schema.GroupKind][]rulePolicy
	own        map[effectiveKey][]rulePolicy // the same, by the namespace of the policy
	versions   map[schema.GroupKind]schema.GroupVersionKind
	overrides  map[string][]*Override       // by namespace
	past       map[schema.GroupKind][]*Rule // of earlier snapshots, which are asked still

	mu    sync.RWMutex
	cache map[effectiveKey]*EffectiveRules
}

type rulePolicy struct {
	rule    *Rule
	policy  *Policy
	waiting *Rule // the rule behind the policy's gate: one for all namespaces; nil without a gate
}

type effectiveKey struct {
	kind      schema.GroupKind
	namespace string
}

// EffectiveRules is the rules that apply to one kind in one namespace, ordered by policy and rule name.
type EffectiveRules struct {
	Rules []*Rule
	Held  bool // everything in the namespace is held
}

// See gives a subject as it is in the page's namespace: held if that is.
func (p *EffectiveRules) See(s Subject) Subject {
	if p.Held {
		s.Flags |= IsHeld
	}
	return s
}

// HasSay reports whether some rule of the page has a say: dry runs have none.
func (p *EffectiveRules) HasSay() bool {
	return slices.ContainsFunc(p.Rules, func(r *Rule) bool { return !r.dryRun() })
}

// SameSettings reports whether both pages give the same verdicts on the same facts.
func (p *EffectiveRules) SameSettings(o *EffectiveRules) bool {
	return p.Held == o.Held && slices.EqualFunc(p.Rules, o.Rules, (*Rule).sameSettings)
}

// NewSnapshot binds policies and all namespaces. It keeps its arguments: they must not change any more.
func NewSnapshot(policies []*Policy, namespaces map[string]Namespace, protection Protection) *Snapshot {
	b := &Snapshot{
		policies:   slices.SortedFunc(slices.Values(policies), func(x, y *Policy) int { return cmp.Compare(x.Name, y.Name) }),
		namespaces: namespaces,
		protection: protection,
		named:      map[string]*Policy{},
		kinds:      map[schema.GroupKind][]rulePolicy{},
		own:        map[effectiveKey][]rulePolicy{},
		versions:   map[schema.GroupKind]schema.GroupVersionKind{},
		overrides:  map[string][]*Override{},
		cache:      map[effectiveKey]*EffectiveRules{},
	}
	b.agreeOnVersions()
	b.takeOverrides()
	for _, p := range b.policies {
		b.named[p.Name] = p
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
	}
	return b
}

func byID(x, y rulePolicy) int { return x.rule.ID.Compare(y.rule.ID) }

// StoredAs is the kind under which the API server stores what it serves under several: rules about any of them are
// rules about the same objects.
func StoredAs(kind schema.GroupVersionKind) schema.GroupKind {
	if kind.Group == "events.k8s.io" && kind.Kind == "Event" {
		return schema.GroupKind{Kind: "Event"}
	}
	return kind.GroupKind()
}

// Policies are all policies, by name.
func (b *Snapshot) Policies() []*Policy { return b.policies }

// Kinds are the kinds that rules target, in no order.
func (b *Snapshot) Kinds() []schema.GroupKind {
	kinds := make([]schema.GroupKind, 0, len(b.kinds))
	for kind := range b.kinds {
		kinds = append(kinds, kind)
	}
	return kinds
}

// Version is the kind as its rules read it: one version for all of them. The zero value says that there is no rule.
func (b *Snapshot) Version(kind schema.GroupKind) schema.GroupVersionKind { return b.versions[kind] }

// Rules are the rules about a kind in any namespace, by policy and rule name.
func (b *Snapshot) Rules(kind schema.GroupKind) []*Rule {
	rules := make([]*Rule, len(b.kinds[kind]))
	for i, rp := range b.kinds[kind] {
		rules[i] = rp.rule
	}
	return rules
}

// Remember has the rules of earlier ClusterRetentionPolicies asked still, so that what they say can be compared. Those of a namespace
// are not: a tenant's edits would multiply. It is to be called before anybody else has the snapshot.
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

// Past is the snapshot as it is compared with later ones: behind its gates nothing is compared, so that it keeps no earlier snapshot.
func (b *Snapshot) Past() *Snapshot {
	if !slices.ContainsFunc(b.policies, func(p *Policy) bool { return p.Gate != nil && p.Gate.Before != nil }) {
		return b
	}
	policies := make([]*Policy, len(b.policies))
	for i, p := range b.policies {
		if policies[i] = p; p.Gate != nil && p.Gate.Before != nil {
			gate, waiting := *p.Gate, *p
			gate.Before, waiting.Gate = nil, &gate
			policies[i] = &waiting
		}
	}
	return NewSnapshot(policies, b.namespaces, b.protection)
}

// Asked are the rules about a kind whose facts are wanted: its own, and those of earlier snapshots that it remembers.
func (b *Snapshot) Asked(kind schema.GroupKind) []*Rule {
	return append(b.Rules(kind), b.past[kind]...)
}

// Effective is the rules that apply to a kind in a namespace, "" for cluster-scoped objects. The same page is given again
// for the same question.
func (b *Snapshot) Effective(kind schema.GroupKind, namespace string) *EffectiveRules {
	key := effectiveKey{kind, namespace}
	b.mu.RLock()
	page := b.cache[key]
	b.mu.RUnlock()
	if page != nil {
		return page
	}
	page = b.effective(key)
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.cache[key]; known != nil {
		return known
	}
	if b.cache == nil {
		b.cache = map[effectiveKey]*EffectiveRules{}
	}
	b.cache[key] = page
	return page
}

func (b *Snapshot) effective(s effectiveKey) *EffectiveRules {
	page := &EffectiveRules{Held: b.namespaces[s.namespace].Held}
	if b.protection.Namespace(s.namespace) {
		return page
	}
	rules := b.own[effectiveKey{kind: s.kind}]
	if own := b.own[s]; s.namespace != "" && len(own) > 0 { // other policies with a namespace do not apply here
		rules = slices.Concat(rules, own)
		slices.SortFunc(rules, byID)
	}
	for _, rp := range rules {
		if b.applies(rp.policy, s.namespace) {
			page.Rules = append(page.Rules, b.settle(rp, s.namespace))
		}
	}
	return page
}

// waiting is a rule behind the gate of its policy; nil without one.
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
		r = r.under(b.overrides[namespace])
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

// applies reports whether a policy is about a namespace. A namespace that is not known yet may have any label, so it
// counts as selected: Knows tells the caller that nothing may be deleted there.
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

// Knows reports whether the labels of the namespace are known; without them nothing may be deleted there. Cluster-scoped
// objects need none.
func (b *Snapshot) Knows(namespace string) bool {
	if namespace == "" {
		return true
	}
	_, ok := b.namespaces[namespace]
	return ok
}

// ClusterRules are the rules of ClusterRetentionPolicies that apply in a namespace, with their settings there, by policy
// and rule name. Those about images of nodes apply in none.
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

// Rule is a rule as its policy has it, without what namespaces change; nil when there is none.
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

// BoundByQuota reports whether a rule in force in a namespace has a capacity that depends on its quotas.
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

// Overrides are those of all RetentionPolicies of a namespace, about any rule.
func (b *Snapshot) Overrides(namespace string) []*Override { return b.overrides[namespace] }

// Namespaces is the number of namespaces known.
func (b *Snapshot) Namespaces() int { return len(b.namespaces) }
