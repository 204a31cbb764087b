package oracle

import (
	"time"

	"github.com/sunset-k8s/sunset/policy/v1alpha1"
	"github.com/sunset-k8s/sunset/test/faults/history"
)

// setting is an override with the RetentionPolicy that has it.
type setting struct {
	override
	enforced bool
}

// settings are the overrides about a rule in a namespace.
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

func (r *rule) allowed() v1alpha1.Override {
	if r.Override == nil {
		return v1alpha1.Override{}
	}
	return *r.Override
}

// bounds are the shortest and longest that may be set; nil where nothing is said.
func (r *rule) bounds() (least, most *time.Duration) {
	if written := r.allowed().TTL; written != nil {
		least, _ = optionalDuration(written.Min) // one that cannot be read has made the rule invalid
		most, _ = optionalDuration(written.Max)
	}
	return least, most
}

// bounded is what a time that is set counts as, where the rule's own is base.
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

// suspendedBy reports whether overrides keep what the rule finds eligible.
func (r *rule) suspendedBy(all []setting) bool {
	may := r.allowed().Suspend == nil || *r.allowed().Suspend
	_, most := r.bounds()
	for _, o := range all {
		suspends := o.Suspend != nil && *o.Suspend
		if may && (suspends || o.invalid) || !may && o.invalid && most == nil {
			return true
		}
	}
	return false
}

// lifetime is the time to live of an object that would have base by the rule's own word.
func (r *rule) lifetime(s *history.State, base time.Duration, all []setting) time.Duration {
	if base < 0 {
		return base
	}
	ttl := r.overridden(base, all)
	own, _ := ownTTL(s) // one that cannot be read has been an error of the rule
	if own == nil {
		return ttl
	}
	switch set := r.bounded(*own, base); {
	case r.allowed().Annotation == nil && *own > ttl:
		return max(ttl, set)
	case r.allowed().Annotation == nil, !*r.allowed().Annotation:
		return ttl
	default:
		return set
	}
}

// overridden is the longest of what counts of overrides, in place of the rule's own.
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

// keeps is how many of the newest stay.
func (r *rule) keeps(all []setting) int {
	own := 0
	if r.KeepNewest != nil {
		own = int(r.KeepNewest.Count)
	}
	least := own
	if written := r.allowed().KeepNewest; written != nil {
		least = int(*written)
	}
	most, any := own, false
	for _, o := range all {
		if o.KeepNewest == nil || o.invalid {
			continue
		}
		set := max(int(*o.KeepNewest), least)
		if set < own && !o.enforced {
			continue
		}
		if !any || set > most {
			most, any = set, true
		}
	}
	return most
}
