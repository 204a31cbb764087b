package policy

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Remarks says which overrides of a RetentionPolicy have no effect on a rule, or another effect than written. The rule is without
// overrides. overrides are all overrides of the namespace, by this RetentionPolicy and others.
func (r *Rule) Remarks(from string, overrides []*Override) []string {
	var remarks []string
	say := func(o *Override, format string, args ...any) {
		remarks = append(remarks, o.Path+": "+fmt.Sprintf(format, args...))
	}
	for _, o := range overrides {
		if o.From != from || !o.names(r.ID) {
			continue
		}
		r.remarkSuspend(o, say)
		r.remarkTTL(o, overrides, say)
		r.remarkKeep(o, overrides, say)
	}
	return remarks
}

type remark func(o *Override, format string, args ...any)

func (r *Rule) remarkSuspend(o *Override, say remark) {
	switch {
	case o.Invalid && !r.SuspendedBy(o):
		say(o, "invalid, so the rule keeps objects for its maximum ttl")
	case o.Invalid:
		say(o, "invalid, so the rule keeps all eligible objects")
	case o.Suspend && r.Bounds.NoSuspend:
		say(o, "the rule does not allow a namespace to suspend it")
	}
}

func (r *Rule) remarkTTL(o *Override, all []*Override, say remark) {
	if o.TTL == nil || o.Invalid {
		return
	}
	wrote := FormatTTL(*o.TTL)
	if !r.hasTTL() {
		say(o, "ttl %s has no effect: the rule has no ttl", wrote)
		return
	}
	if r.HasTTLExpression {
		r.remarkBesideExpression(o, wrote, say)
		return
	}
	ttl := r.Bounds.clamp(*o.TTL, r.TTL)
	switch {
	case *o.TTL < ttl && r.Bounds.Min == nil:
		say(o, "ttl %s is raised to %s: the rule allows only a longer ttl", wrote, FormatTTL(ttl))
	case *o.TTL < ttl:
		say(o, "ttl %s is raised to %s, the minimum of the rule", wrote, FormatTTL(ttl))
	case *o.TTL > ttl:
		say(o, "ttl %s is lowered to %s, the maximum of the rule", wrote, FormatTTL(ttl))
	}
	own, counts := r.ttlUnder(o, r.TTL)
	if !counts {
		say(o, "ttl %s is shorter than the rule's %s: it applies only in mode %s", FormatTTL(ttl), FormatTTL(r.TTL), v1alpha1.Enforce)
		return
	}
	for _, other := range all {
		if ttl, counts := r.ttlUnder(other, r.TTL); counts && other.names(r.ID) && ttl > own {
			say(o, "ttl %s has no effect: %s of %s keeps objects longer, %s", FormatTTL(own), other.Path, other.From, FormatTTL(ttl))
			return
		}
	}
}

// remarkBesideExpression is remarkTTL for a rule with ttlExpression, whose result, and so the effect of the override, differs
// between objects.
func (r *Rule) remarkBesideExpression(o *Override, wrote string, say remark) {
	if r.Bounds.Min == nil {
		say(o, "ttl %s applies only if it is longer than the result of the rule's ttlExpression", wrote)
		return
	}
	if ttl := r.Bounds.clamp(*o.TTL, *r.Bounds.Min); ttl != *o.TTL {
		say(o, "ttl %s is changed to %s, a bound of the rule", wrote, FormatTTL(ttl))
	}
	if !o.InForce {
		say(o, "ttl %s applies only if it is longer than the result of the rule's ttlExpression; in mode %s it always applies", wrote, v1alpha1.Enforce)
	}
}

func (r *Rule) remarkKeep(o *Override, all []*Override, say remark) {
	if o.Keep == nil || o.Invalid {
		return
	}
	n, counts := r.keepUnder(o)
	if n != *o.Keep {
		say(o, "keepNewest %d is raised to %d, the minimum of the rule", *o.Keep, n)
	}
	if !counts {
		say(o, "keepNewest %d is less than the rule's %d: it applies only in mode %s", n, r.Keep, v1alpha1.Enforce)
		return
	}
	for _, other := range all {
		if m, counts := r.keepUnder(other); counts && other.names(r.ID) && m > n {
			say(o, "keepNewest %d has no effect: %s of %s keeps more, %d", n, other.Path, other.From, m)
			return
		}
	}
}
