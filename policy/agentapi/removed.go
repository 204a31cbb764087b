// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Removed is how many images a policy has removed.
type Removed struct {
	All   v1alpha1.ImageCount
	Rules map[string]int64 // images, by rule
}

func (r *Removed) add(e *entry) {
	r.All = plus(r.All, e.removed)
	for i := range e.rules {
		r.addRule(e.rules[i].name, e.rules[i].removed.Images)
	}
}

func (r *Removed) addRule(name string, images int64) {
	if r.Rules == nil {
		r.Rules = map[string]int64{}
	}
	r.Rules[name] = policy.SumOrMost(r.Rules[name], images)
}

func plus(a, b v1alpha1.ImageCount) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: policy.SumOrMost(a.Images, b.Images), Bytes: policy.SumOrMost(a.Bytes, b.Bytes)}
}

// carryOver keeps the removed images of a node when it reports again. Policies missing from the new report keep their numbers, and
// so do missing rules that the policy still has. If the node lost its state and counts from zero, its old numbers are added to gone.
func (r *Reports) carryOver(before, after *report) {
	for i := range before.policies {
		was := &before.policies[i]
		rules, known := r.known[was.uid]
		if !known {
			continue
		}
		is := after.entry(was.uid)
		switch {
		case is == nil:
			after.policies = append(after.policies, only(was, rules))
		case is.removed.Images < was.removed.Images:
			o := only(was, rules)
			r.goneOf(was.uid).add(&o)
		default:
			carryRules(was, is, rules)
		}
	}
}

// carryRules keeps the removed images of rules of the policy that are missing from the new report.
func carryRules(was, is *entry, rules sets.Set[string]) {
	for _, rule := range only(was, rules).rules {
		if is.rule(rule.name) == nil && rule.removed.Images > 0 {
			is.rules = append(is.rules, rule)
		}
	}
}

// only is an entry with only the removed images, by rules of the policy: an agent can report any other rules.
func only(e *entry, rules sets.Set[string]) entry {
	o := entry{uid: e.uid, counts: counts{removed: e.removed}}
	for i := range e.rules {
		if rule := &e.rules[i]; rules.Has(rule.name) {
			o.rules = append(o.rules, ruleEntry{name: rule.name, counts: counts{removed: rule.removed}})
		}
	}
	return o
}

func (r *Reports) goneOf(uid types.UID) *Removed {
	if r.gone[uid] == nil {
		r.gone[uid] = &Removed{}
	}
	return r.gone[uid]
}

// Resume raises the removed images of a policy to at least the numbers in its status, which include nodes that no longer exist.
// It may be called repeatedly.
func (r *Reports) Resume(uid types.UID, least Removed) {
	now := Removed{}
	for _, n := range r.nodes {
		if e := n.entry(uid); e != nil {
			now.add(e)
		}
	}
	gone := r.goneOf(uid)
	gone.All.Images = max(gone.All.Images, least.All.Images-now.All.Images)
	gone.All.Bytes = max(gone.All.Bytes, least.All.Bytes-now.All.Bytes)
	for name, images := range least.Rules {
		if more := images - now.Rules[name] - gone.Rules[name]; more > 0 {
			gone.addRule(name, more)
		}
	}
}
