package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Override is what a RetentionPolicy changes, in its namespace, of one rule of a ClusterRetentionPolicy or of all.
type Override struct {
	From    string // the RetentionPolicy, NAMESPACE/NAME
	Path    string // where it is written, such as spec.overrides[0]
	Policy  string // the ClusterRetentionPolicy; empty for all of them, where it is not understood which is meant
	Rule    string // empty for every rule of it
	TTL     *time.Duration
	Suspend bool
	Keep    *int // of keepNewest
	// InForce: the RetentionPolicy is enforced, so that the override may also make objects go sooner.
	InForce bool
	// Rests: the RetentionPolicy is suspended, and not a dry run whose effect is of interest.
	Rests bool
	// Invalid: it cannot be understood and may have meant to keep, so it suspends where it may.
	Invalid bool
}

// names reports whether the override is about a rule.
func (o *Override) names(id RuleID) bool {
	return (o.Policy == "" || o.Policy == id.Policy) && (o.Rule == "" || o.Rule == id.Rule)
}

// suspends reports whether the override keeps what the rule finds eligible.
func (o *Override) suspends() bool { return o.Suspend || o.Invalid }

// Bounds is what may be changed of a rule. The zero value allows to keep longer, nothing else.
type Bounds struct {
	Min, Max   *time.Duration // of a TTL that is set; nil Min means the rule's own, nil Max none
	Annotation *bool          // true: an object may set any TTL within the bounds; false: none; nil: a longer one
	NoSuspend  bool           // a namespace may not suspend the rule
	Keep       *int           // the least of keepNewest that may be set; nil means the rule's own
}

func (b Bounds) equal(o Bounds) bool {
	return same(b.Min, o.Min) && same(b.Max, o.Max) && same(b.Annotation, o.Annotation) && b.NoSuspend == o.NoSuspend && same(b.Keep, o.Keep)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// clamp brings a TTL that is set within the bounds of a rule whose own TTL is base. Where the bounds leave nothing, the
// longer one counts.
func (b Bounds) clamp(ttl, base time.Duration) time.Duration {
	if b.Max != nil {
		ttl = min(ttl, *b.Max)
	}
	if b.Min != nil {
		return max(ttl, *b.Min)
	}
	return max(ttl, base)
}

// sameOverrides reports whether both lists set the same.
func sameOverrides(a, b []*Override) bool {
	return slices.EqualFunc(a, b, func(x, y *Override) bool {
		return x.From == y.From && x.Policy == y.Policy && x.Rule == y.Rule && same(x.TTL, y.TTL) && same(x.Keep, y.Keep) &&
			x.Suspend == y.Suspend && x.Invalid == y.Invalid && x.InForce == y.InForce && x.Rests == y.Rests
	})
}

// under is the rule as it applies in a namespace with these overrides, of which some are about other rules.
func (r *Rule) under(overrides []*Override) *Rule {
	own := r.overridden(overrides)
	if own == r {
		return r
	}
	if trial := r.overridden(enforced(overrides)); !trial.sameSettings(own) {
		own.Trial = trial
	}
	return own
}

// overridden is the rule itself when no override is about it.
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
		if o.TTL != nil || o.Keep != nil || o.suspends() {
			own.Overrides = append(slices.Clip(own.Overrides), o)
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

// SuspendedBy reports whether an override suspends the rule. One that is not understood does even where it may not, unless
// a bound says how long it could keep instead.
func (r *Rule) SuspendedBy(o *Override) bool {
	if r.Bounds.NoSuspend {
		return o.Invalid && r.Bounds.Max == nil
	}
	return o.suspends()
}

// keepUnder is how many of the newest stay by an override; counts is false when it says nothing, or may not say it.
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

// ttlUnder is the TTL by an override, of a subject that would have base without; counts is false when it says nothing,
// or may not say it.
func (r *Rule) ttlUnder(o *Override, base time.Duration) (ttl time.Duration, counts bool) {
	switch {
	case base < 0:
		return 0, false
	case o.Invalid && r.Bounds.NoSuspend && r.Bounds.Max != nil: // it may have meant as long as it could
		return *r.Bounds.Max, *r.Bounds.Max > base
	case o.Invalid || o.TTL == nil:
		return 0, false
	}
	ttl = r.Bounds.clamp(*o.TTL, base)
	return ttl, o.InForce || ttl >= base
}

// enforced is what the overrides would be if every RetentionPolicy that is a dry run were enforced.
func enforced(overrides []*Override) []*Override {
	all := make([]*Override, len(overrides))
	for i, o := range overrides {
		inForce := *o
		inForce.InForce = !o.Rests
		all[i] = &inForce
	}
	return all
}

// loadOverride checks an override as written.
func (p *Policy) loadOverride(i int, spec v1alpha1.RuleOverride) *Override {
	path := overridePath(i)
	o := &Override{
		From: p.Name, Path: path, Policy: spec.Policy, Rule: spec.Rule, InForce: p.Mode == v1alpha1.Enforce, Rests: p.Mode == v1alpha1.Suspended,
		Suspend: spec.Suspend != nil && *spec.Suspend,
	}
	if spec.Policy == "" {
		p.problem(path+".policy", "missing", "name a ClusterRetentionPolicy")
	}
	for field, name := range map[string]*string{"policy": &o.Policy, "rule": &o.Rule} {
		if strings.Contains(*name, "*") {
			p.problem(path+"."+field, fmt.Sprintf("%q is no name", *name), "names have no wildcards: write one override for each policy; without rule it is about all rules of the policy")
			*name = "" // nobody knows which are meant, so it keeps what any of them would delete
		}
	}
	if spec.TTL == "" && spec.Suspend == nil && spec.KeepNewest == nil {
		p.problem(path, "changes nothing", "set ttl, suspend or keepNewest")
	}
	if spec.TTL != "" {
		ttl, err := ParseTTL(spec.TTL)
		if err != nil {
			p.problem(path+".ttl", err.Error(), TTLHint(spec.TTL))
		}
		o.TTL = &ttl
	}
	if spec.KeepNewest != nil {
		n := int(*spec.KeepNewest)
		if n < 0 {
			p.problem(path+".keepNewest", fmt.Sprintf("%d is negative", n), "")
		}
		o.Keep = &n
	}
	return o
}
