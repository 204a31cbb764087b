package policy

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Remarks says what of a RetentionPolicy's overrides does not count for a rule, or not as written. The rule is as its own
// policy has it; overrides are all of the namespace, of this RetentionPolicy and of others.
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
		say(o, "not understood, so that it keeps as long as the rule allows")
	case o.Invalid:
		say(o, "not understood, so that it keeps what the rule finds eligible")
	case o.Suspend && r.Bounds.NoSuspend:
		say(o, "the rule does not let a namespace suspend it")
	}
}

func (r *Rule) remarkTTL(o *Override, all []*Override, say remark) {
	if o.TTL == nil || o.Invalid {
		return
	}
	wrote := FormatTTL(*o.TTL)
	if !r.hasTTL() {
		say(o, "ttl %s does not count: the rule has none", wrote)
		return
	}
	if r.HasTTLExpression {
		r.remarkBesideExpression(o, wrote, say)
		return
	}
	ttl := r.Bounds.clamp(*o.TTL, r.TTL)
	switch {
	case *o.TTL < ttl && r.Bounds.Min == nil:
		say(o, "ttl %s counts as %s: the rule allows only a longer one", wrote, FormatTTL(ttl))
	case *o.TTL < ttl:
		say(o, "ttl %s counts as %s, the shortest that the rule allows", wrote, FormatTTL(ttl))
	case *o.TTL > ttl:
		say(o, "ttl %s counts as %s, the longest that the rule allows", wrote, FormatTTL(ttl))
	}
	own, counts := r.ttlUnder(o, r.TTL)
	if !counts {
		say(o, "ttl %s is shorter than the rule's %s, and counts once mode is %s", FormatTTL(ttl), FormatTTL(r.TTL), v1alpha1.Enforce)
		return
	}
	for _, other := range all {
		if ttl, counts := r.ttlUnder(other, r.TTL); counts && other.names(r.ID) && ttl > own {
			say(o, "ttl %s does not count: %s of %s keeps longer, %s", FormatTTL(own), other.Path, other.From, FormatTTL(ttl))
			return
		}
	}
}

// remarkBesideExpression: what an expression gives, and so what counts, differs from object to object.
func (r *Rule) remarkBesideExpression(o *Override, wrote string, say remark) {
	if r.Bounds.Min == nil {
		say(o, "ttl %s counts where it is longer than what the rule's ttlExpression gives", wrote)
	} else if ttl := r.Bounds.clamp(*o.TTL, *r.Bounds.Min); ttl != *o.TTL {
		say(o, "ttl %s counts as %s, by the bounds of the rule", wrote, FormatTTL(ttl))
	}
	if !o.InForce {
		say(o, "ttl %s counts where it is longer than what the rule's ttlExpression gives, and elsewhere once mode is %s", wrote, v1alpha1.Enforce)
	}
}

func (r *Rule) remarkKeep(o *Override, all []*Override, say remark) {
	if o.Keep == nil || o.Invalid {
		return
	}
	n, counts := r.keepUnder(o)
	if n != *o.Keep {
		say(o, "keepNewest %d counts as %d, the least that the rule allows", *o.Keep, n)
	}
	if !counts {
		say(o, "keepNewest %d is less than the rule's %d, and counts once mode is %s", n, r.Keep, v1alpha1.Enforce)
		return
	}
	for _, other := range all {
		if m, counts := r.keepUnder(other); counts && other.names(r.ID) && m > n {
			say(o, "keepNewest %d does not count: %s of %s keeps more, %d", n, other.Path, other.From, m)
			return
		}
	}
}
