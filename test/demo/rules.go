// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// The rules of policy.yaml.
const (
	succeededRule = "succeeded"
	failedRule    = "failed"
)

// rules are the rules of the policy from some time on, as the demo computes them without Sunset.
type rules struct {
	since      time.Time
	generation int64 // of the policy
	mode       v1alpha1.Mode
	ttl        map[string]time.Duration // by rule
	excluded   []string                 // namespaces
}

func rulesOf(p *v1alpha1.ClusterRetentionPolicy, since time.Time) rules {
	r := rules{
		since: since, generation: p.Generation,
		mode: p.Spec.Mode, ttl: map[string]time.Duration{}, excluded: p.Spec.ExcludeNamespaces,
	}
	for _, rule := range p.Spec.Rules {
		if ttl, err := policy.ParseTTL(rule.TTL); err == nil {
			r.ttl[rule.Name] = ttl
		}
	}
	return r
}

func (r rules) same(o rules) bool {
	return r.mode == o.mode && maps.Equal(r.ttl, o.ttl) && slices.Equal(r.excluded, o.excluded)
}

// history is every snapshot of the rules, the oldest first.
type history []rules

// add appends a snapshot, unless it is older than or equal to the last one.
func (h history) add(next rules) history {
	if len(h) == 0 {
		return history{next}
	}
	last := &h[len(h)-1]
	switch {
	case next.generation <= last.generation:
		return h
	case last.same(next):
		last.generation = next.generation
		return h
	default:
		return append(h, next)
	}
}

// at returns the snapshot in force at a time; an empty one before the first.
func (h history) at(t time.Time) rules {
	for _, r := range slices.Backward(h) {
		if !r.since.After(t) {
			return r
		}
	}
	return rules{}
}

// before returns the snapshot that r replaced.
func (h history) before(r rules) rules { return h.at(r.since.Add(-1)) }
