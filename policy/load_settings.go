// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Thresholds for approval if a policy does not set them.
const (
	defaultMaxPercent = 25
	defaultMaxObjects = 100
)

func (p *Policy) loadApproval(written *v1alpha1.Approval) {
	p.Approval = Approval{MaxPercent: defaultMaxPercent, MaxObjects: defaultMaxObjects}
	if written == nil {
		return
	}
	for _, field := range []struct {
		name    string
		written *int32
		most    int32
		into    *int64
	}{
		{"maxPercent", written.MaxPercent, 100, &p.Approval.MaxPercent},
		{"maxObjects", written.MaxObjects, 1<<31 - 1, &p.Approval.MaxObjects},
	} {
		if field.written == nil {
			continue
		}
		if *field.written < 0 || *field.written > field.most {
			p.problem("spec.approval."+field.name, fmt.Sprintf("%d is out of range", *field.written), fmt.Sprintf("0 to %d", field.most))
			continue
		}
		*field.into = int64(*field.written)
	}
	valid := oneOf(p.problem, "spec.approval.requiredFor", written.RequiredFor, v1alpha1.ApprovalForLargeChanges, v1alpha1.ApprovalForAllChanges)
	p.Approval.AllChanges = !valid || written.RequiredFor == v1alpha1.ApprovalForAllChanges
}

// The shortest and the longest window of limits.
const (
	shortestWindow = time.Second
	longestWindow  = 365 * Day
)

func (p *Policy) loadLimits(written *v1alpha1.Limits) {
	if written == nil {
		return
	}
	p.Limits = &Limits{Max: int64(written.MaxDeletions)}
	if written.MaxDeletions < 0 {
		p.problem("spec.limits.maxDeletions", fmt.Sprintf("%d is negative", written.MaxDeletions), "write 0 to delete nothing, or leave limits out for no limit")
	}
	window, err := ParseTTL(written.Window)
	switch {
	case err != nil:
		p.problem("spec.limits.window", err.Error(), cmp.Or(TTLHint(written.Window), `write the period in which maxDeletions counts, such as "1h"`))
	case window < shortestWindow || window > longestWindow:
		p.problem("spec.limits.window", fmt.Sprintf("%q is out of range", written.Window), "1s to 365d")
	}
	p.Limits.Window = window
}

// hash identifies which objects the spec deletes. It ignores whether the policy deletes them, how fast, and whether it writes
// Events. It includes outcome and bytes, because objects for which they fail are kept.
func (s *Spec) hash() string {
	c := *s
	c.Mode, c.Approval, c.Limits = "", nil, nil
	c.Rules = slices.Clone(s.Rules)
	for i := range c.Rules {
		r := &c.Rules[i]
		r.Events = ""
		r.Eligible = unless(DefaultEligible, r.Eligible)
		if d := r.Delete; d != nil { // an explicit default has the same hash as an absent one
			same := *d
			same.Target = unless(v1alpha1.TargetObject, d.Target)
			if same.PropagationPolicy = unless(metav1.DeletePropagationBackground, d.PropagationPolicy); same == (v1alpha1.Delete{}) {
				r.Delete = nil
			} else {
				r.Delete = &same
			}
		}
		if capacity := r.Capacity; capacity != nil {
			same := *capacity
			same.Share = unless(v1alpha1.SharePerNamespace, capacity.Share)
			r.Capacity = &same
		}
	}
	// The spec was read from JSON, so it can be encoded as JSON.
	text, _ := json.Marshal(c)
	return shortHash(text)
}

// unless is a value, or the zero value for the default.
func unless[T comparable](standard, value T) T {
	if value == standard {
		var none T
		return none
	}
	return value
}

func (r *Rule) loadRanking(at report) {
	if k := r.Spec.KeepNewest; k != nil {
		r.Keep = int(k.Count)
		if k.Count < 1 {
			at("keepNewest.count", fmt.Sprintf("%d keeps no objects", k.Count), "write 1 or more, or leave keepNewest out")
		}
	}
	c := r.Spec.Capacity
	if c == nil {
		return
	}
	r.Capacity = Capacity{Bounded: true, Fair: c.Share == v1alpha1.ShareFair}
	switch {
	case c.Max == nil && c.PercentOfQuota == nil:
		at("capacity", "has neither max nor percentOfQuota", "write max: 100, or percentOfQuota: 80")
	case c.Max != nil && c.PercentOfQuota != nil:
		at("capacity", "has both max and percentOfQuota", "leave one of them out")
	case c.Max != nil && *c.Max < 0:
		at("capacity.max", fmt.Sprintf("%d is negative", *c.Max), "0 or more")
	case c.Max != nil:
		r.Capacity.Max = int(*c.Max)
	case *c.PercentOfQuota < 0 || *c.PercentOfQuota > 100:
		at("capacity.percentOfQuota", fmt.Sprintf("%d is not a percentage", *c.PercentOfQuota), "0 to 100")
	case r.Capacity.Fair:
		at("capacity.share", "percentOfQuota counts in each namespace", "leave share out, or write PerNamespace")
	default:
		r.Capacity.ByQuota, r.Capacity.Percent = true, int(*c.PercentOfQuota)
	}
	oneOf(at, "capacity.share", c.Share, v1alpha1.SharePerNamespace, v1alpha1.ShareFair)
}

func (r *Rule) loadBounds(at report) {
	b := r.Spec.OverrideBounds
	if b == nil {
		return
	}
	r.Bounds = Bounds{Annotation: unless(v1alpha1.TTLAnnotationLonger, b.TTLAnnotation), NoSuspend: b.AllowSuspend != nil && !*b.AllowSuspend}
	oneOf(at, "overrideBounds.ttlAnnotation", b.TTLAnnotation, v1alpha1.TTLAnnotationLonger, v1alpha1.TTLAnnotationWithinBounds, v1alpha1.TTLAnnotationIgnore)
	if b.MinKeepNewest != nil {
		n := int(*b.MinKeepNewest)
		r.Bounds.Keep = &n
		if n < 0 {
			at("overrideBounds.minKeepNewest", fmt.Sprintf("%d is negative", n), "0 or more")
		}
	}
	r.Bounds.Min = bound(at, "overrideBounds.minTTL", b.MinTTL)
	r.Bounds.Max = bound(at, "overrideBounds.maxTTL", b.MaxTTL)
	if r.Bounds.Min != nil && r.Bounds.Max != nil && *r.Bounds.Min > *r.Bounds.Max {
		at("overrideBounds", fmt.Sprintf("minTTL %s is longer than maxTTL %s", b.MinTTL, b.MaxTTL), "write a minTTL that is not longer than maxTTL")
	}
}

// bound reads one bound of a TTL; nil if it is absent.
func bound(at report, field, text string) *time.Duration {
	if text == "" {
		return nil
	}
	ttl, err := ParseTTL(text)
	if err != nil {
		at(field, err.Error(), TTLHint(text))
	}
	return &ttl
}

func (r *Rule) loadDelete(at report, d *v1alpha1.Delete) {
	r.Propagation = cmp.Or(d.PropagationPolicy, r.Propagation)
	r.Owner, r.AllowUnfinished = d.Target == v1alpha1.TargetOwner, d.AllowUnfinishedOwner
	r.AllowManaged = d.AllowManaged
	oneOf(at, "delete.target", d.Target, v1alpha1.TargetObject, v1alpha1.TargetOwner)
	if r.AllowUnfinished && !r.Owner {
		at("delete.allowUnfinishedOwner", "the rule does not delete owners", "set target: Owner too, or leave it out")
	}
	oneOf(at, "delete.propagationPolicy", r.Propagation, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan)
	if r.Owner && r.Propagation == metav1.DeletePropagationOrphan {
		at("delete.propagationPolicy", "Orphan would keep the object when its owner is deleted", "Background or Foreground")
	}
}
