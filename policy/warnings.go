package policy

import "fmt"

// Warnings are those of all rules.
func (p *Policy) Warnings() []Problem {
	var warnings []Problem
	for _, r := range p.Rules {
		warnings = append(warnings, r.Warnings()...)
	}
	return warnings
}

// Warnings says what may be a mistake, and is no problem: the rule does what is written. It is to be asked of a rule whose
// expressions have been compiled.
func (r *Rule) Warnings() []Problem {
	switch {
	case r.Invalid():
		return nil
	case r.OnNodes():
		return r.warnOfShortLives()
	default:
		return r.warnOfUse()
	}
}

func (r *Rule) warnOfShortLives() []Problem {
	if r.HasTTLExpression || r.TTL < 0 || r.TTL >= shortestImageTTL {
		return nil
	}
	return []Problem{{
		Path:    fmt.Sprintf("spec.rules[%d].ttl", r.Index),
		Message: fmt.Sprintf("images that go after %s may be pulled again and again", FormatTTL(r.TTL)),
		Hint:    "1h or longer; for want of space write images.highThresholdPercent and lowThresholdPercent",
	}}
}

// warnOfUse: nothing in a ConfigMap or Secret says whether somebody uses it.
func (r *Rule) warnOfUse() []Problem {
	s := r.Spec.Target.Selector
	selective := s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
	if !r.IsReferredTo() || r.ReadsReferences || selective {
		return nil
	}
	return []Problem{{
		Path:    fmt.Sprintf("spec.rules[%d].eligible", r.Index),
		Message: fmt.Sprintf("the rule is about any %s, and does not ask whether something uses it", r.Kind.Kind),
		Hint:    "write references.count == 0 && ..., or name labels in target.selector",
	}}
}

// IsReferredTo reports whether the rule is about ConfigMaps or Secrets, which others refer to by name.
func (r *Rule) IsReferredTo() bool {
	return r.Kind.Group == "" && (r.Kind.Kind == "ConfigMap" || r.Kind.Kind == "Secret")
}
