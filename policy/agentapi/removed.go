// SPDX-License-Identifier: Apache-2.0

package agentapi

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// removed is how many images a policy has removed.
type removed struct {
	all   v1alpha1.ImageCount
	rules map[string]int64 // images, by rule
}

func (r *removed) add(e *entry) {
	r.all = plus(r.all, e.removed)
	for i := range e.rules {
		r.addRule(e.rules[i].name, e.rules[i].removed.Images)
	}
}

func (r *removed) addRule(name string, images int64) {
	if r.rules == nil {
		r.rules = map[string]int64{}
	}
	r.rules[name] += images
}

func plus(a, b v1alpha1.ImageCount) v1alpha1.ImageCount {
	return v1alpha1.ImageCount{Images: a.Images + b.Images, Bytes: a.Bytes + b.Bytes}
}

// carryOver keeps the removed images of a node when it reports again. Policies and rules missing from the new report keep their
// numbers. If the node lost its state and counts from zero, its old numbers are added to gone.
func (r *Reports) carryOver(before, after *report) {
	for i := range before.policies {
		was := &before.policies[i]
		if !r.known.Has(was.uid) {
			continue
		}
		is := after.entry(was.uid)
		switch {
		case is == nil:
			after.policies = append(after.policies, only(was))
		case is.removed.Images < was.removed.Images:
			r.goneOf(was.uid).add(was)
		default:
			carryRules(was, is)
		}
	}
}

// carryRules keeps the removed images of rules that are missing from the new report.
func carryRules(was, is *entry) {
	for i := range was.rules {
		rule := &was.rules[i]
		if now := is.rule(rule.name); now == nil && rule.removed.Images > 0 {
			is.rules = append(is.rules, ruleEntry{name: rule.name, counts: counts{removed: rule.removed}})
		}
	}
}

// only is an entry with only the removed images.
func only(e *entry) entry {
	o := entry{uid: e.uid, counts: counts{removed: e.removed}}
	for i := range e.rules {
		o.rules = append(o.rules, ruleEntry{name: e.rules[i].name, counts: counts{removed: e.rules[i].removed}})
	}
	return o
}

func (r *Reports) goneOf(uid types.UID) *removed {
	if r.gone[uid] == nil {
		r.gone[uid] = &removed{}
	}
	return r.gone[uid]
}

// Resume raises the removed images of a policy to at least the numbers in its status, which include nodes that no longer exist.
// It may be called repeatedly.
func (r *Reports) Resume(uid types.UID, all v1alpha1.ImageCount, rules map[string]int64) {
	now := removed{}
	for _, n := range r.nodes {
		if e := n.entry(uid); e != nil {
			now.add(e)
		}
	}
	gone := r.goneOf(uid)
	gone.all.Images = max(gone.all.Images, all.Images-now.all.Images)
	gone.all.Bytes = max(gone.all.Bytes, all.Bytes-now.all.Bytes)
	for name, images := range rules {
		if more := images - now.rules[name] - gone.rules[name]; more > 0 {
			gone.addRule(name, more)
		}
	}
}
