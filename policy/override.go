// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Override is a change by a RetentionPolicy, in its namespace, of one rule or all rules of a ClusterRetentionPolicy.
type Override struct {
	From    string // the RetentionPolicy, as NAMESPACE/NAME
	Path    string // field path, such as spec.overrides[0]
	Policy  string // the ClusterRetentionPolicy; empty for all if the name cannot be read
	Rule    string // empty for all rules
	TTL     *time.Duration
	Suspend bool
	Keep    *int     // count of keepNewest
	Windows *Windows // in addition to those of the rule
	// InForce: the RetentionPolicy is enforced, so that the override may also make objects due sooner.
	InForce bool
	// Suspended: the RetentionPolicy is suspended. A dry run is not, because status shows its effect.
	Suspended bool
	// Invalid: it cannot be read and was perhaps meant to keep objects, so it suspends rules if it is allowed to.
	Invalid bool
}

// names reports whether the override applies to a rule.
func (o *Override) names(id RuleID) bool {
	return (o.Policy == "" || o.Policy == id.Policy) && (o.Rule == "" || o.Rule == id.Rule)
}

// windows are the windows as a list; empty for none.
func (o *Override) windows() []*Windows {
	if o.Windows == nil {
		return nil
	}
	return []*Windows{o.Windows}
}

// suspends reports whether the override keeps the objects that the rule finds eligible.
func (o *Override) suspends() bool { return o.Suspend || o.Invalid }

// Bounds are the changes that a rule allows. The zero value allows only to keep objects longer.
type Bounds struct {
	Min, Max   *time.Duration               // of a changed TTL; nil Min means the rule's own, nil Max none
	Annotation v1alpha1.TTLAnnotationEffect // which TTL an object can set; empty for Longer
	NoSuspend  bool                         // a namespace cannot suspend the rule
	Keep       *int                         // minimum of a changed keepNewest; nil means the rule's own
}

func (b Bounds) equal(o Bounds) bool {
	return same(b.Min, o.Min) && same(b.Max, o.Max) && b.Annotation == o.Annotation && b.NoSuspend == o.NoSuspend && same(b.Keep, o.Keep)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// clamp limits a changed TTL to the bounds of a rule whose own TTL is base. If the bounds contradict each other, the longer one
// applies. A Max below base means base, so that no request for a longer TTL makes it shorter, and no longer base does.
func (b Bounds) clamp(ttl, base time.Duration) time.Duration {
	if b.Max != nil {
		ttl = min(ttl, max(*b.Max, base))
	}
	if b.Min != nil {
		return max(ttl, *b.Min)
	}
	return max(ttl, base)
}

// sameOverrides reports whether both lists have the same effect.
func sameOverrides(a, b []*Override) bool {
	return slices.EqualFunc(a, b, func(x, y *Override) bool {
		return x.From == y.From && x.Policy == y.Policy && x.Rule == y.Rule && same(x.TTL, y.TTL) && same(x.Keep, y.Keep) && sameWindows(x.windows(), y.windows()) &&
			x.Suspend == y.Suspend && x.Invalid == y.Invalid && x.InForce == y.InForce && x.Suspended == y.Suspended
	})
}

// under is the rule as it applies in a namespace with these overrides, some of which may be for other rules.
func (r *Rule) under(overrides []*Override) *Rule {
	own := r.overridden(overrides)
	if own == r {
		return r
	}
	if ifEnforced := r.overridden(enforced(overrides)); !ifEnforced.sameSettings(own) {
		own.IfEnforced = ifEnforced
	}
	return own
}

// overridden is the changed rule, or r itself if no override applies to it.
func (r *Rule) overridden(overrides []*Override) *Rule {
	own := r
	keep := -1
	for _, o := range overrides {
		if !o.names(r.ID) {
			continue
		}
		if own == r {
			changed := *r
			own = &changed
		}
		if r.SuspendedBy(o) {
			own.Suspended = true
		}
		if o.TTL != nil || o.Keep != nil || o.suspends() || o.Windows != nil {
			own.Overrides = append(slices.Clip(own.Overrides), o)
		}
		if !r.Bounds.NoSuspend {
			own.Windows = slices.Concat(own.Windows, o.windows())
		}
		if n, counts := r.keepUnder(o); counts {
			keep = max(keep, n)
		}
	}
	if keep >= 0 {
		own.Keep = keep
	}
	return own
}

// SuspendedBy reports whether an override suspends the rule. An invalid override also suspends a rule that does not allow it,
// unless the rule has a maximum TTL, which then applies instead.
func (r *Rule) SuspendedBy(o *Override) bool {
	if r.Bounds.NoSuspend {
		return o.Invalid && r.Bounds.Max == nil
	}
	return o.suspends()
}

// keepUnder is the keepNewest count of an override; counts is false if the override does not set it, or must not lower it.
func (r *Rule) keepUnder(o *Override) (n int, counts bool) {
	if o.Keep == nil || o.Invalid {
		return 0, false
	}
	least := r.Keep
	if r.Bounds.Keep != nil {
		least = *r.Bounds.Keep
	}
	n = max(*o.Keep, least)
	return n, o.InForce || n >= r.Keep
}

// ttlUnder is the TTL of an override for a subject whose TTL is base without it; counts is false if the override does not set it,
// or must not shorten it.
func (r *Rule) ttlUnder(o *Override, base time.Duration) (ttl time.Duration, counts bool) {
	switch {
	case base < 0:
		return 0, false
	case o.Invalid && r.Bounds.NoSuspend && r.Bounds.Max != nil: // it was perhaps meant to set the maximum
		return *r.Bounds.Max, *r.Bounds.Max > base
	case o.Invalid || o.TTL == nil:
		return 0, false
	}
	ttl = r.Bounds.clamp(*o.TTL, base)
	return ttl, o.InForce || ttl >= base
}

// enforced are the overrides as if every dry-run RetentionPolicy were enforced.
func enforced(overrides []*Override) []*Override {
	all := make([]*Override, len(overrides))
	for i, o := range overrides {
		inForce := *o
		inForce.InForce = !o.Suspended
		all[i] = &inForce
	}
	return all
}

// loadOverride checks one override.
func (p *Policy) loadOverride(i int, spec v1alpha1.RuleOverride) *Override {
	path := elementPath(overridesField, i)
	o := &Override{
		From: p.Name, Path: path, Policy: spec.Policy, Rule: spec.Rule, InForce: p.Mode == v1alpha1.Enforce, Suspended: p.Mode == v1alpha1.Suspend,
		Suspend: spec.Suspend != nil && *spec.Suspend,
	}
	if spec.Policy == "" {
		p.problem(path+".policy", "missing", "name a ClusterRetentionPolicy")
	}
	for i, name := range []*string{&o.Policy, &o.Rule} {
		if strings.Contains(*name, "*") {
			p.problem(path+[]string{".policy", ".rule"}[i], fmt.Sprintf("%q is not a valid name", *name), "names have no wildcards: write one override for each policy; without rule, an override applies to all rules of the policy")
			*name = "" // it could mean any name, so the override applies to all
		}
	}
	o.Windows = p.loadWindows(path+".windows", spec.Windows)
	if spec.TTL == "" && spec.Suspend == nil && spec.KeepNewest == nil && spec.Windows == nil {
		p.problem(path, "changes nothing", "set ttl, suspend, keepNewest or windows")
	}
	if spec.TTL != "" {
		ttl, err := ParseTTL(spec.TTL)
		if err != nil {
			p.problem(path+".ttl", err.Error(), TTLHint(spec.TTL))
		}
		o.TTL = &ttl
	}
	if spec.KeepNewest != nil {
		n := int(spec.KeepNewest.Count)
		if n < 0 {
			p.problem(path+".keepNewest.count", fmt.Sprintf("%d is negative", n), "0 or more")
		}
		o.Keep = &n
	}
	return o
}
