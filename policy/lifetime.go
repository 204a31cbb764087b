// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Origin is the source of a setting.
type Origin string

// The origins, in ascending order of precedence.
const (
	FromRule       Origin = "Rule"
	FromOverride   Origin = "Override"   // of a RetentionPolicy
	FromAnnotation Origin = "Annotation" // sunset-k8s.io/ttl on the object
)

// Lifetime is the time to live of one subject by one rule, and its source.
type Lifetime struct {
	TTL    time.Duration // NeverTTL if it never ends
	Origin Origin
	Wrote  time.Duration // the written value; differs from TTL if a bound of the rule changed it
	By     *Override     // the override; nil for other Origins
}

// Lifetime is the time to live of a subject with these facts. An override replaces the TTL of the rule, and the annotation of the
// object replaces both, within the bounds of the rule. If there are several overrides, the longest applies. A time to live that
// never ends by the rule cannot be changed.
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

// annotated applies the annotation of an object to a lifetime.
func (r *Rule) annotated(own, base time.Duration, l Lifetime) Lifetime {
	switch r.Bounds.Annotation {
	case v1alpha1.TTLAnnotationIgnore:
		return l
	case v1alpha1.TTLAnnotationWithinBounds:
		return Lifetime{TTL: r.Bounds.clamp(own, base), Wrote: own, Origin: FromAnnotation}
	}
	if longer := r.Bounds.clamp(own, base); own > l.TTL && longer > l.TTL {
		return Lifetime{TTL: longer, Wrote: own, Origin: FromAnnotation}
	}
	return l
}
