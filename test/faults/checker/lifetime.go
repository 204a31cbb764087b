// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// setting is an override, and whether its RetentionPolicy is enforced.
type setting struct {
	override
	enforced bool
}

// settings returns the overrides of a rule in a namespace.
func (r *rule) settings(teams []*policy) []setting {
	var all []setting
	if !r.clustered() {
		return nil
	}
	for _, team := range teams {
		for _, o := range team.overrides {
			if (o.Policy == r.policy.name || o.Policy == "" && o.invalid) && (o.Rule == "" || o.Rule == r.Name) {
				all = append(all, setting{o, team.enforced()})
			}
		}
		if team.doubtful {
			all = append(all, setting{override: override{invalid: true}})
		}
	}
	return all
}

func (r *rule) allowed() v1alpha1.OverrideBounds {
	return ptr.Deref(r.OverrideBounds, v1alpha1.OverrideBounds{})
}

// bounds returns the shortest and longest TTL that an override may set; nil if not limited.
func (r *rule) bounds() (least, most *time.Duration) {
	least, _ = optionalDuration(r.allowed().MinTTL) // an unreadable bound has made the rule invalid
	most, _ = optionalDuration(r.allowed().MaxTTL)
	return least, most
}

// bounded returns the TTL that an override results in; base is the TTL of the rule.
func (r *rule) bounded(ttl, base time.Duration) time.Duration {
	least, most := r.bounds()
	if most != nil {
		ttl = min(ttl, *most)
	}
	if least != nil {
		return max(ttl, *least)
	}
	return max(ttl, base)
}

// suspendedBy reports whether overrides suspend the rule.
func (r *rule) suspendedBy(all []setting) bool {
	may := ptr.Deref(r.allowed().AllowSuspend, true)
	_, most := r.bounds()
	for _, o := range all {
		suspends := ptr.Deref(o.Suspend, false)
		if may && (suspends || o.invalid) || !may && o.invalid && most == nil {
			return true
		}
	}
	return false
}

// lifetime returns the TTL of an object whose TTL is base according to the rule.
func (r *rule) lifetime(s *history.State, base time.Duration, all []setting) time.Duration {
	if base < 0 {
		return base
	}
	ttl := r.overridden(base, all)
	own, _ := ownTTL(s) // an unreadable TTL is reported as an error of the rule
	if own == nil {
		return ttl
	}
	switch set := r.bounded(*own, base); r.allowed().TTLAnnotation {
	case v1alpha1.TTLAnnotationWithinBounds:
		return set
	case v1alpha1.TTLAnnotationIgnore:
		return ttl
	default:
		if *own > ttl {
			return max(ttl, set)
		}
		return ttl
	}
}

// overridden returns the longest TTL of the applicable overrides, or the rule's own.
func (r *rule) overridden(base time.Duration, all []setting) time.Duration {
	longest, any := base, false
	_, most := r.bounds()
	for _, o := range all {
		var set time.Duration
		switch ttl, _ := optionalDuration(o.TTL); {
		case o.invalid && most != nil && *most > base:
			set = *most
		case o.invalid || ttl == nil:
			continue
		default:
			set = r.bounded(*ttl, base)
		}
		if set < base && !o.enforced {
			continue
		}
		if !any || set > longest {
			longest, any = set, true
		}
	}
	return longest
}

// keeps returns how many of the newest objects are kept.
func (r *rule) keeps(all []setting) int {
	own := 0
	if r.KeepNewest != nil {
		own = int(r.KeepNewest.Count)
	}
	least := own
	if written := r.allowed().MinKeepNewest; written != nil {
		least = int(*written)
	}
	most, any := own, false
	for _, o := range all {
		if o.KeepNewest == nil || o.invalid {
			continue
		}
		set := max(int(o.KeepNewest.Count), least)
		if set < own && !o.enforced {
			continue
		}
		if !any || set > most {
			most, any = set, true
		}
	}
	return most
}
