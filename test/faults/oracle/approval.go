package oracle

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

// A policy without approval in its spec has these.
const (
	defaultBacklogCount   = 100
	defaultBacklogPercent = 25
	leastForPercent       = 10
)

type backlogKey struct {
	p        *policy
	revision int64
}

// waits checks that the policy that decides needed no approval: it was approved, or does not always require it and its form was
// there before, as a dry run perhaps, or not too much was due when it came into force, or is by now; and that nothing big became due by it because something
// else had changed since. Whether the form was counted completely before is not known here, and taken for granted.
func (j *judge) waits(d *removal, v verdict, o order) *verdict {
	p := v.by.policy
	if p.isBoundless() {
		return nil
	}
	since := j.unbroken(p, o.revision, func(other *policy) bool { return other.enforced() && other.form() == p.form() })
	if v := j.changed(d, v, o, since); v != nil {
		return v
	}
	if j.isApproved(p, 0) {
		return nil
	}
	if p.alwaysWaits() {
		return &verdict{promise: Approved, by: v.by, why: fmt.Sprintf("policy %s always requires approval, and nobody approved this form", p.name)}
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
		"policy %s came into force at revision %d, nobody had previewed it, and more was due than it allows", p.name, since)}
}

// isApproved reports whether the form that a policy has is approved: its status named the hash that is on it for what waited of
// this form, at a revision or later. What a hash is made of only the product knows, and for which namespaces one is; but that it is
// one of another form shows.
func (j *judge) isApproved(p *policy, since int64) bool {
	hash := p.state.GetAnnotations()[v1alpha1.ApprovedAnnotation]
	changes := j.Log.Of(p.state.Key)
	if n := slices.IndexFunc(changes, func(c history.Change) bool { return c.Revision > since }); n > 0 {
		changes = changes[n-1:] // with what it was at that revision
	}
	return hash != "" && slices.ContainsFunc(changes, func(c history.Change) bool {
		if c.After == nil || c.After.GetUID() != p.state.GetUID() {
			return false
		}
		status := mapIn(c.After.Object, "status")
		return mapIn(status, "pendingApproval")["hash"] == hash && status["observedGeneration"] == c.After.GetGeneration() &&
			j.policyOf(c.After).form() == p.form()
	})
}

func (p *policy) backlog() (count, percent int64) {
	count, percent = defaultBacklogCount, defaultBacklogPercent
	if a := p.spec.Approval; a != nil && a.BacklogCount != nil {
		count = int64(*a.BacklogCount)
	}
	if a := p.spec.Approval; a != nil && a.BacklogPercent != nil {
		percent = int64(*a.BacklogPercent)
	}
	return count, percent
}

// isBoundless saves counting where no test has as many objects.
func (p *policy) isBoundless() bool {
	count, percent := p.backlog()
	return count >= 1_000_000 && percent >= 100 && !p.alwaysWaits()
}

func (p *policy) alwaysWaits() bool {
	return p.spec.Approval != nil && p.spec.Approval.Required == v1alpha1.ApprovalAlways
}

// form is the spec without what may change and needs no approval.
func (p *policy) form() string {
	spec := p.spec
	spec.Mode, spec.Approval, spec.Limits, spec.Rules = "", nil, nil, nil
	for _, r := range p.rules {
		rule := r.Rule
		rule.Outcome, rule.Events = "", ""
		spec.Rules = append(spec.Rules, rule)
	}
	written, _ := json.Marshal(spec) // it came from JSON
	return string(written)
}

// unbroken is the revision since which, up to another one, a policy was always as it should be.
func (j *judge) unbroken(p *policy, upTo int64, is func(*policy) bool) int64 {
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

// wasBefore reports whether the form of a policy was there before a revision.
func (j *judge) wasBefore(p *policy, revision int64) bool {
	return slices.ContainsFunc(j.Log.Of(p.state.Key), func(c history.Change) bool {
		return c.Revision < revision && c.After != nil && c.After.GetUID() == p.state.GetUID() && j.policyOf(c.After).form() == p.form()
	})
}

// isTooMuch counts what a policy would let go at once.
func (j *judge) isTooMuch(p *policy, revision int64, at time.Time) bool {
	key := backlogKey{p, revision}
	if known, ok := j.backlogs[key]; ok {
		return known
	}
	var due, selected int64
	for _, s := range j.selected(p, revision) {
		selected++
		o := j.orders(s.GetNamespace(), window{revision, revision})[0]
		if v := j.decide(s, o, at); v.goes && v.by.policy.uid == p.uid {
			due++
		}
	}
	j.backlogs[key] = p.exceeds(due, selected)
	return j.backlogs[key]
}

// exceeds reports whether so many objects need approval.
func (p *policy) exceeds(due, selected int64) bool {
	count, percent := p.backlog()
	return p.alwaysWaits() && due > 0 || due > count || due >= leastForPercent && due*100 > percent*selected
}

// selected are the objects that a policy's rules are about.
func (j *judge) selected(p *policy, revision int64) []*history.State {
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
