// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy"
)

// ruleIndex finds the rules that apply in a namespace, also if the input does not describe the namespace.
type ruleIndex struct {
	in       Input
	snapshot *policy.Snapshot

	mu          sync.Mutex
	undescribed map[string]*policy.Snapshot // a snapshot for each namespace that the input does not describe
}

func newRuleIndex(in Input) *ruleIndex {
	return &ruleIndex{
		in:          in,
		snapshot:    policy.NewSnapshot(in.Policies, in.Namespaces, in.Protection),
		undescribed: map[string]*policy.Snapshot{},
	}
}

// page returns the rules that apply to a kind in a namespace.
func (p *ruleIndex) page(kind schema.GroupKind, namespace string) *policy.EffectiveRules {
	if p.snapshot.Knows(namespace) {
		return p.snapshot.Effective(kind, namespace)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	snapshot := p.undescribed[namespace]
	if snapshot == nil {
		only := map[string]policy.Namespace{namespace: p.namespace(namespace)}
		snapshot = policy.NewSnapshot(p.in.Policies, only, p.in.Protection)
		p.undescribed[namespace] = snapshot
	}
	return snapshot.Effective(kind, namespace)
}

// namespace returns a namespace of the input, or one with only the name label.
func (p *ruleIndex) namespace(name string) policy.Namespace {
	if known, ok := p.in.Namespaces[name]; ok || name == "" {
		return known
	}
	return policy.Namespace{Labels: NameLabel(name)}
}

// NameLabel is the label that the API server sets on every namespace.
func NameLabel(namespace string) labels.Set {
	return labels.Set{"kubernetes.io/metadata.name": namespace}
}

// ranking returns the ranking of a rule, also for namespaces that the input does not describe.
func (p *ruleIndex) ranking(kind schema.GroupKind, id policy.RuleID) policy.Ranking {
	ranking := p.snapshot.Ranking(kind, id)
	ranking.Allowance = func(namespace string) policy.Allowance { return p.page(kind, namespace).Allowance(id) }
	return ranking
}
