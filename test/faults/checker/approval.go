// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// Defaults of a policy without approval in its spec.
const (
	defaultMaxObjects = 100
	defaultMaxPercent = 25
	leastForPercent   = 10
)

type changeKey struct {
	p        *policy
	revision int64
}

// waits checks that the deciding policy needed no approval. An approved policy needs none. Unless the policy always requires
// approval, it needs none either if it had the same form before, for example as a dry run, or if not too many objects were
// due when it was enforced, or are due now. waits also checks that no other change made too many objects due since then. The
// checker assumes that Sunset counted the whole form before.
func (j *checker) waits(d *removal, v verdict, o order) *verdict {
	p := v.by.policy
	if p.isBoundless() {
		return nil
	}
	since := j.unbroken(p, o.revision, func(other *policy) bool { return other.enforced() && other.form() == p.form() })
	if v := j.changed(d, v, o, since); v != nil {
		return v
	}
	if j.isApproved(p, 0, o) {
		return nil
	}
	if p.alwaysWaits() {
		return &verdict{promise: Approved, by: v.by, why: fmt.Sprintf("policy %s always requires approval, and this form was not approved", p.name)}
	}
	if j.wasBefore(p, since) {
		return nil
	}
	at, known := j.times.Latest(since)
	if !known {
		at = d.sent
	}
	if !j.isTooMuch(p, since, at) || !j.isTooMuch(p, o.revision, d.sent) {
		return nil
	}
	return &verdict{promise: Approved, by: v.by, why: fmt.Sprintf(
		"policy %s was enforced at revision %d without a preview, and more objects were due than it allows", p.name, since)}
}

// isApproved reports whether the current form of a policy may count as approved: an approval has the hash that its status named
// for this form, at the revision since or later, and existed when Sunset may have read it last. Only the product can compute a
// hash and knows its namespaces; but a hash of another form is detected.
func (j *checker) isApproved(p *policy, since int64, o order) bool {
	changes := j.Log.Of(p.state.Key)
	later := slices.IndexFunc(changes, func(c history.Change) bool { return c.Revision > since })
	if later < 0 {
		later = len(changes)
	}
	changes = changes[max(0, later-1):] // includes the state at that revision
	return slices.ContainsFunc(changes, func(c history.Change) bool {
		if c.After == nil || c.After.GetUID() != p.state.GetUID() {
			return false
		}
		status := mapIn(c.After.Object, "status")
		return j.isHashApproved(p, mapIn(status, "pendingApproval")["hash"], o) && status["observedGeneration"] == c.After.GetGeneration() &&
			j.policyOf(c.After).form() == p.form()
	})
}

// isHashApproved reports whether an approval of a policy with a hash existed at any time when Sunset may have read it last.
func (j *checker) isHashApproved(p *policy, hash any, o order) bool {
	kind := v1alpha1.ClusterRetentionApprovalKind.GroupKind()
	if !p.clustered() {
		kind = v1alpha1.RetentionApprovalKind.GroupKind()
	}
	all := j.Log.Kind(kind, o.from)
	for _, c := range j.Log.Between(kind, o.from, o.revision) {
		if c.After != nil {
			all = append(all, c.After)
		}
	}
	return hash != nil && slices.ContainsFunc(all, func(s *history.State) bool {
		spec := mapIn(s.Object, "spec")
		return spec["hash"] == hash && mapIn(spec, "policy")["uid"] == p.uid && s.GetNamespace() == p.namespace
	})
}

func (p *policy) thresholds() (count, percent int64) {
	count, percent = defaultMaxObjects, defaultMaxPercent
	if a := p.spec.Approval; a != nil && a.MaxObjects != nil {
		count = int64(*a.MaxObjects)
	}
	if a := p.spec.Approval; a != nil && a.MaxPercent != nil {
		percent = int64(*a.MaxPercent)
	}
	return count, percent
}

// isBoundless avoids counting where no test has that many objects.
func (p *policy) isBoundless() bool {
	count, percent := p.thresholds()
	return count >= 1_000_000 && percent >= 100 && !p.alwaysWaits()
}

func (p *policy) alwaysWaits() bool {
	return p.spec.Approval != nil && p.spec.Approval.RequiredFor == v1alpha1.ApprovalForAllChanges
}

// form is the spec without the fields that may change without approval.
func (p *policy) form() string {
	spec := p.spec
	spec.Mode, spec.Approval, spec.Limits, spec.Rules = "", nil, nil, nil
	for _, r := range p.rules {
		rule := r.Rule
		rule.Outcome, rule.Bytes, rule.Events = "", "", ""
		spec.Rules = append(spec.Rules, rule)
	}
	written, _ := json.Marshal(spec) // spec came from JSON
	return string(written)
}

// unbroken returns the first revision since which a policy always satisfied a condition, up to another revision.
func (j *checker) unbroken(p *policy, upTo int64, is func(*policy) bool) int64 {
	since := upTo
	for _, c := range slices.Backward(j.Log.Of(p.state.Key)) {
		switch {
		case c.Revision > upTo:
		case c.After == nil || c.After.GetUID() != p.state.GetUID() || !is(j.policyOf(c.After)):
			return since
		default:
			since = c.Revision
		}
	}
	return since
}

// wasBefore reports whether a policy had its form before a revision.
func (j *checker) wasBefore(p *policy, revision int64) bool {
	return slices.ContainsFunc(j.Log.Of(p.state.Key), func(c history.Change) bool {
		return c.Revision < revision && c.After != nil && c.After.GetUID() == p.state.GetUID() && j.policyOf(c.After).form() == p.form()
	})
}

// isTooMuch counts the objects that a policy would delete immediately.
func (j *checker) isTooMuch(p *policy, revision int64, at time.Time) bool {
	key := changeKey{p, revision}
	if known, ok := j.changes[key]; ok {
		return known
	}
	var due, selected int64
	for _, s := range j.selected(p, revision) {
		selected++
		o := j.orders(s.GetNamespace(), window{revision, revision})[0]
		if v := j.decide(s, o, at); v.deleted && v.by.policy.uid == p.uid {
			due++
		}
	}
	j.changes[key] = p.exceeds(due, selected)
	return j.changes[key]
}

// exceeds reports whether this number of objects needs approval.
func (p *policy) exceeds(due, selected int64) bool {
	count, percent := p.thresholds()
	return p.alwaysWaits() && due > 0 || due > count || due >= leastForPercent && due*100 > percent*selected
}

// selected returns the objects that a policy's rules select.
func (j *checker) selected(p *policy, revision int64) []*history.State {
	seen := map[schema.GroupKind]bool{}
	var all []*history.State
	for _, r := range p.rules {
		kind := r.kind.GroupKind()
		if seen[kind] {
			continue
		}
		seen[kind] = true
		for _, s := range j.Log.Kind(kind, revision) {
			o := j.orders(s.GetNamespace(), window{revision, revision})[0]
			if j.applies(p, s, o) && slices.ContainsFunc(p.rules, func(r *rule) bool {
				return r.kind.GroupKind() == kind && r.selector.Matches(labels.Set(s.GetLabels()))
			}) {
				all = append(all, s)
			}
		}
	}
	return all
}
