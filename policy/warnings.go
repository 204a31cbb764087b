// SPDX-License-Identifier: Apache-2.0

package policy

import "fmt"

// Warnings are the warnings of all rules.
func (p *Policy) Warnings() []Problem {
	var warnings []Problem
	for _, r := range p.Rules {
		warnings = append(warnings, r.Warnings()...)
	}
	return warnings
}

// Warnings are possible mistakes, which are not problems: the rule does what is written. The expressions of the rule must have
// been compiled.
func (r *Rule) Warnings() []Problem {
	switch {
	case r.Invalid():
		return nil
	case r.OnNodes():
		return r.warnOfShortLives()
	default:
		return append(r.warnOfBounds(), r.warnOfUse()...)
	}
}

// warnOfBounds warns of a maximum that is shorter than the TTL.
func (r *Rule) warnOfBounds() []Problem {
	if r.HasTTLExpression || r.Bounds.Max == nil || *r.Bounds.Max >= r.TTL {
		return nil
	}
	return []Problem{{
		Path:    fmt.Sprintf("spec.rules[%d].overrideBounds.maxTTL", r.Index),
		Message: fmt.Sprintf("%s is shorter than the ttl %s of the rule, so a longer time has no effect", FormatTTL(*r.Bounds.Max), FormatTTL(r.TTL)),
		Hint:    "write a maxTTL that is longer than ttl",
	}}
}

func (r *Rule) warnOfShortLives() []Problem {
	if r.HasTTLExpression || r.TTL < 0 || r.TTL >= shortestImageTTL {
		return nil
	}
	return []Problem{{
		Path:    fmt.Sprintf("spec.rules[%d].ttl", r.Index),
		Message: fmt.Sprintf("images that are removed after %s may be pulled again repeatedly", FormatTTL(r.TTL)),
		Hint:    "write 1h or longer; to free disk space, write images.highThresholdPercent and lowThresholdPercent",
	}}
}

// warnOfUse warns because no field of a ConfigMap or Secret says whether it is in use.
func (r *Rule) warnOfUse() []Problem {
	s := r.Spec.Target.Selector
	selective := s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
	if !IsConfigMapOrSecret(r.Kind.GroupVersion().String(), r.Kind.Kind) || r.ReadsReferences() || selective {
		return nil
	}
	return []Problem{{
		Path:    fmt.Sprintf("spec.rules[%d].eligible", r.Index),
		Message: fmt.Sprintf("the rule selects every %s, and does not check whether it is in use", r.Kind.Kind),
		Hint:    "write references.count == 0 && ..., or select labels in target.selector",
	}}
}

// IsConfigMapOrSecret reports whether Sunset holds some objects of a kind without an annotation.
func IsConfigMapOrSecret(apiVersion, kind string) bool {
	return apiVersion == "v1" && (kind == "ConfigMap" || kind == "Secret")
}
