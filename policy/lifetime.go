package policy

import "time"

// Origin is where a setting comes from.
type Origin string

// The origins, each going before those above it.
const (
	FromRule       Origin = "Rule"
	FromOverride   Origin = "Override"   // of a RetentionPolicy
	FromAnnotation Origin = "Annotation" // sunset.x-k8s.io/ttl on the object
)

// Lifetime is the time to live of one subject by one rule, and where it comes from.
type Lifetime struct {
	TTL    time.Duration // NeverTTL when it never ends
	Origin Origin
	Wrote  time.Duration // what is written there; another than TTL where a bound of the rule changed it
	By     *Override     // the override; nil for another Origin
}

// Lifetime is the time to live of a subject with these facts: the rule's, in its place that of an override, in its place
// that of the object's annotation, as far as the rule's bounds allow. Of several overrides the longest counts. What never
// ends by the rule's own word cannot be ended.
func (r *Rule) Lifetime(s Subject, f Facts) Lifetime { return r.lifetime(&s, &f) }

func (r *Rule) lifetime(s *Subject, f *Facts) Lifetime {
	base := r.TTL
	if r.HasTTLExpression {
		base = f.TTL
	}
	l := Lifetime{TTL: base, Wrote: base, Origin: FromRule}
	if base < 0 {
		return l
	}
	for _, o := range r.Overrides {
		if ttl, counts := r.ttlUnder(o, base); counts && (l.By == nil || ttl > l.TTL) {
			l = Lifetime{TTL: ttl, Wrote: ttl, Origin: FromOverride, By: o}
			if o.TTL != nil {
				l.Wrote = *o.TTL
			}
		}
	}
	if s.Flags.Has(HasTTL) {
		return r.annotated(s.OwnTTL, base, l)
	}
	return l
}

// annotated is what an object's annotation makes of a lifetime.
func (r *Rule) annotated(own, base time.Duration, l Lifetime) Lifetime {
	allowed := r.Bounds.Annotation
	switch {
	case allowed != nil && !*allowed:
		return l
	case allowed != nil:
		return Lifetime{TTL: r.Bounds.clamp(own, base), Wrote: own, Origin: FromAnnotation}
	}
	if longer := r.Bounds.clamp(own, base); own > l.TTL && longer > l.TTL {
		return Lifetime{TTL: longer, Wrote: own, Origin: FromAnnotation}
	}
	return l
}
