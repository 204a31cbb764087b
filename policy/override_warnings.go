// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// OverrideWarnings says which overrides of a RetentionPolicy have no effect on a rule, or another effect than written. The rule is without
// overrides. overrides are all overrides of the namespace, by this RetentionPolicy and others.
func (r *Rule) OverrideWarnings(from string, overrides []*Override) []string {
	var warnings []string
	warn := func(o *Override, format string, args ...any) {
		warnings = append(warnings, o.Path+": "+fmt.Sprintf(format, args...))
	}
	for _, o := range overrides {
		if o.From != from || !o.names(r.ID) {
			continue
		}
		r.warnSuspend(o, warn)
		r.warnTTL(o, overrides, warn)
		r.warnKeep(o, overrides, warn)
		if o.Windows != nil && r.Bounds.NoSuspend {
			warn(o, "windows have no effect: the rule does not allow a namespace to suspend it")
		}
	}
	return warnings
}

type warnFunc func(o *Override, format string, args ...any)

func (r *Rule) warnSuspend(o *Override, warn warnFunc) {
	switch {
	case o.Invalid && !r.SuspendedBy(o):
		warn(o, "invalid, so the rule keeps objects for its maximum ttl")
	case o.Invalid:
		warn(o, "invalid, so the rule keeps all eligible objects")
	case o.Suspend && r.Bounds.NoSuspend:
		warn(o, "the rule does not allow a namespace to suspend it")
	}
}

func (r *Rule) warnTTL(o *Override, all []*Override, warn warnFunc) {
	if o.TTL == nil || o.Invalid {
		return
	}
	wrote := FormatTTL(*o.TTL)
	if !r.hasTTL() {
		warn(o, "ttl %s has no effect: the rule has no ttl", wrote)
		return
	}
	if r.HasTTLExpression {
		r.warnBesideExpression(o, wrote, warn)
		return
	}
	ttl := r.Bounds.clamp(*o.TTL, r.TTL)
	switch {
	case *o.TTL < ttl && r.Bounds.Min == nil:
		warn(o, "ttl %s is raised to %s: the rule allows only a longer ttl", wrote, FormatTTL(ttl))
	case *o.TTL < ttl:
		warn(o, "ttl %s is raised to %s, the minimum of the rule", wrote, FormatTTL(ttl))
	case *o.TTL > ttl && r.Bounds.Max != nil && *r.Bounds.Max < r.TTL:
		warn(o, "ttl %s is lowered to %s, the rule's own, because the maximum of the rule is shorter", wrote, FormatTTL(ttl))
	case *o.TTL > ttl:
		warn(o, "ttl %s is lowered to %s, the maximum of the rule", wrote, FormatTTL(ttl))
	}
	own, counts := r.ttlUnder(o, r.TTL)
	if !counts {
		warn(o, "ttl %s is shorter than the rule's %s: it applies only in mode %s", FormatTTL(ttl), FormatTTL(r.TTL), v1alpha1.Enforce)
		return
	}
	for _, other := range all {
		if ttl, counts := r.ttlUnder(other, r.TTL); counts && other.names(r.ID) && ttl > own {
			warn(o, "ttl %s has no effect: %s of %s keeps objects longer, %s", FormatTTL(own), other.Path, other.From, FormatTTL(ttl))
			return
		}
	}
}

// warnBesideExpression is warnTTL for a rule with ttlExpression, whose result, and so the effect of the override, differs
// between objects.
func (r *Rule) warnBesideExpression(o *Override, wrote string, warn warnFunc) {
	if r.Bounds.Min == nil {
		warn(o, "ttl %s applies only if it is longer than the result of the rule's ttlExpression", wrote)
		return
	}
	if ttl := r.Bounds.clamp(*o.TTL, *r.Bounds.Min); ttl != *o.TTL {
		warn(o, "ttl %s is changed to %s, a bound of the rule", wrote, FormatTTL(ttl))
	}
	if !o.InForce {
		warn(o, "ttl %s applies only if it is longer than the result of the rule's ttlExpression; in mode %s it always applies", wrote, v1alpha1.Enforce)
	}
}

func (r *Rule) warnKeep(o *Override, all []*Override, warn warnFunc) {
	if o.Keep == nil || o.Invalid {
		return
	}
	n, counts := r.keepUnder(o)
	if n != *o.Keep {
		warn(o, "keepNewest.count %d is raised to %d, the minimum of the rule", *o.Keep, n)
	}
	if !counts {
		warn(o, "keepNewest.count %d is less than the rule's %d: it applies only in mode %s", n, r.Keep, v1alpha1.Enforce)
		return
	}
	for _, other := range all {
		if m, counts := r.keepUnder(other); counts && other.names(r.ID) && m > n {
			warn(o, "keepNewest.count %d has no effect: %s of %s keeps more, %d", n, other.Path, other.From, m)
			return
		}
	}
}
