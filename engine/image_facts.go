package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// imageFacts says what a rule about images says about one. Of an image with several tags it is asked once for each, with
// that tag alone in object.spec.tags: the image goes only if the rule holds for all of them. The latest start and the
// longest time to live count, and the image is in the group of each tag. One that fails makes all fail.
func (e *Evaluator) imageFacts(r *Program, object map[string]any) policy.Facts {
	image, err := ImageOf(object)
	if err != nil {
		return policy.Facts{Selected: r.selects(object), Err: e.shared(err)}
	}
	facts, _ := e.ofTags(r, image, object)
	if facts.Selected && facts.Err == nil {
		facts.FirstSeen, facts.Unpullable = image.FirstSeen, len(image.Digests) == 0
	}
	return facts
}

// ofTags also gives the tag that decides, empty unless there are several.
func (e *Evaluator) ofTags(r *Program, image *Image, object map[string]any) (all policy.Facts, decides string) {
	if len(image.Tags) < 2 {
		return e.facts(r, object), ""
	}
	for i, tag := range image.Tags {
		one := e.facts(r, withTag(object, tag))
		if one.Err != nil {
			one.Err = e.shared(&tagError{tag: tag, err: one.Err})
			return one, tag
		}
		if i == 0 || keepsLonger(&one, &all) {
			decides = tag
		}
		if i == 0 {
			all = one
		} else {
			all = together(&all, &one)
		}
	}
	return all, decides
}

// withTag is the object of an image as if that tag were its only one.
func withTag(object map[string]any, tag string) map[string]any {
	one, spec := maps.Clone(object), maps.Clone(mapOf(object, "spec"))
	spec["tags"] = []any{tag}
	one["spec"] = spec
	return one
}

// together is what a rule says that says both: it lets go what both let go, when the later does.
func together(a, b *policy.Facts) policy.Facts {
	all := policy.Facts{Selected: a.Selected && b.Selected, Eligible: a.Eligible && b.Eligible}
	if !all.Eligible {
		return all
	}
	if !a.Start.IsZero() && !b.Start.IsZero() {
		all.Start = later(a.Start, b.Start)
	}
	all.TTL = longer(a.TTL, b.TTL)
	groups := append([]string{a.Group, b.Group}, slices.Concat(a.Also, b.Also)...)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	all.Group = groups[0]
	if len(groups) > 1 {
		all.Also = groups[1:]
	}
	return all
}

func longer(a, b time.Duration) time.Duration {
	if a == policy.NeverTTL || b == policy.NeverTTL {
		return policy.NeverTTL
	}
	return max(a, b)
}

// keepsLonger reports whether what a rule says of one tag keeps the image longer than what it says of others.
func keepsLonger(one, others *policy.Facts) bool {
	switch {
	case !others.Eligible || !one.Eligible:
		return others.Eligible && !one.Eligible
	case others.Start.IsZero() || one.Start.IsZero():
		return !others.Start.IsZero()
	case others.TTL < 0 || one.TTL < 0:
		return others.TTL >= 0
	}
	return one.Start.Add(one.TTL).After(others.Start.Add(others.TTL))
}

// tagError says of which tag an expression failed.
type tagError struct {
	tag string
	err error
}

// Error implements error.
func (e *tagError) Error() string { return shorten("of " + e.tag + ": " + e.err.Error()).Error() }

// Unwrap gives the error of the expression.
func (e *tagError) Unwrap() error { return e.err }

// decides is the tag of an image that keeps it longest by a rule, or that the rule fails on. It is empty for an image
// without several tags, and for any other object.
func (e *Evaluator) decides(r *Program, object map[string]any) string {
	if !r.images {
		return ""
	}
	image, err := ImageOf(object)
	if err != nil {
		return ""
	}
	_, tag := e.ofTags(r, image, object)
	return tag
}
