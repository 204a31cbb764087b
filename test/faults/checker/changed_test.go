// SPDX-License-Identifier: Apache-2.0

package checker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sunset-k8s/sunset/test/faults/checker"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// TestChangeThatMakesManyDueNeedsApproval removes what keeps objects from an enforced policy, and deletes one of them.
func TestChangeThatMakesManyDueNeedsApproval(t *testing.T) {
	const allowed = ", approval: {maxObjects: 5, maxPercent: 100}"
	namespace := func(more string) string { return `{apiVersion: v1, kind: Namespace, metadata: {name: a` + more + `}}` }
	override := func(overrides string) string {
		return `{apiVersion: sunset-k8s.io/v1alpha1, kind: RetentionPolicy, metadata: {namespace: a, name: t}, spec: {mode: Enforce, overrides: [` + overrides + `]}}`
	}
	quota := func(hard string) string {
		return `{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: a, name: q}, spec: {hard: {configmaps: ` + hard + `}}}`
	}
	veto := func(p *past) *history.State { return p.policy("q", "Suspend", "", "") }
	ways := map[string]struct {
		ruled string // of the enforced policy
		keeps func(p *past) *history.State
		lifts func(p *past, kept *history.State)
	}{
		"a policy is deleted":             {"", veto, func(p *past, q *history.State) { p.remove(q) }},
		"a policy is a dry run":           {"", veto, func(p *past, _ *history.State) { p.policy("q", "DryRun", "", "") }},
		"a policy excludes the namespace": {"", veto, func(p *past, _ *history.State) { p.policy("q", "Suspend", ", excludeNamespaces: [a]", "") }},
		"a policy has a shorter TTL":      {"", func(p *past) *history.State { return p.policy("q", "Enforce", "", ", ttl: 100h") }, func(p *past, _ *history.State) { p.policy("q", "Enforce", "", ", ttl: 1m") }},
		"a hold of a namespace is removed": {"", func(p *past) *history.State {
			return p.store(namespace(`, annotations: {sunset-k8s.io/hold: "true"}`))
		}, func(p *past, _ *history.State) { p.store(namespace("")) }},
		"a label is added":        {"", nil, func(p *past, _ *history.State) { p.store(namespace(", labels: {ci: 'yes'}")) }},
		"an override is deleted":  {"", func(p *past) *history.State { return p.store(override("{policy: p, suspend: true}")) }, func(p *past, o *history.State) { p.remove(o) }},
		"an override is created":  {", ttl: 100h, overrideBounds: {minTTL: 1s}", nil, func(p *past, _ *history.State) { p.store(override("{policy: p, ttl: 1m}")) }},
		"a quota shrinks":         {", ttl: 1000h, capacity: {percentOfQuota: 100}", func(p *past) *history.State { return p.store(quota("100")) }, func(p *past, _ *history.State) { p.store(quota("1")) }},
		"a longer TTL has passed": {"", func(p *past) *history.State { return p.policy("q", "Enforce", "", ", ttl: 30m") }, nil},
	}
	stories := map[string]example{}
	for name, way := range ways {
		selector := ""
		if name == "a label is added" {
			selector = ", namespaceSelector: {matchLabels: {ci: 'yes'}}"
		}
		// policy writes the enforced policy, with a status.
		policy := func(p *past, status string) *history.State {
			text := p.policyText("p", "Enforce", allowed+selector, way.ruled)
			text = strings.Replace(text, "{name: p}", "{name: p, generation: 1}", 1)
			return p.store(text[:len(text)-1] + ", status: {observedGeneration: 1" + status + "}}")
		}
		scene := func(n int, between func(p *past)) func(*past) {
			return func(p *past) {
				var kept *history.State
				if way.keeps != nil {
					kept = way.keeps(p)
				}
				policy(p, "")
				var all []*history.State
				for i := range n {
					all = append(all, p.configMap(fmt.Sprint("x", i)))
					p.wait(time.Second)
				}
				p.wait(time.Hour)
				if way.lifts != nil {
					way.lifts(p, kept)
				}
				p.wait(time.Minute)
				between(p)
				p.sunset(all[0])
			}
		}
		var want []checker.Promise
		if way.lifts != nil {
			want = broken(checker.Approved)
		}
		const shown = ", pendingApproval: {hash: 9f2c}"
		stories[name+", without approval"] = example{tell: scene(7, func(*past) {}), want: want}
		stories[name+", few objects"] = example{tell: scene(6, func(p *past) { p.remove(p.log.At("/registry/configmaps/a/x1", p.revision)) })}
		stories[name+", with approval"] = example{tell: scene(7, func(p *past) {
			p.approve(policy(p, shown), "9f2c")
			p.wait(time.Minute)
		})}
		stories[name+", with an earlier approval"] = example{tell: func(p *past) {
			p.approve(policy(p, shown), "9f2c")
			policy(p, "")
			p.wait(time.Minute)
			scene(7, func(*past) {})(p)
		}, want: want}
	}
	tell(t, stories)
}
