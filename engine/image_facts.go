// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// imageFacts returns the facts about an image. An image with several tags is evaluated once for each tag, with only
// that tag in object.spec.tags. The image is eligible only if it is eligible with every tag. The latest start and the
// longest time to live apply, and the image is in the group of each tag. If one evaluation fails, the facts contain its
// error.
func (e *Evaluator) imageFacts(r *Program, object map[string]any) policy.Facts {
	image, err := ImageOf(object)
	if err != nil {
		return policy.Facts{Selected: r.selects(object), Err: e.shared(err)}
	}
	facts, _ := e.ofTags(r, image, object)
	if facts.Selected && facts.Err == nil {
		facts.FirstSeen, facts.Unpullable = image.FirstSeen, isUnpullable(image.Digests)
	}
	if facts.Eligible {
		facts.Size.Bytes = image.SizeBytes
	}
	return facts
}

// loaded matches the digests of images that podman or buildah built on the node, or that ctr imported.
var loaded = regexp.MustCompile(`^localhost/|(^|/)import-\d{4}-\d{2}-\d{2}@`)

// isUnpullable reports whether all digests of an image are of loaded images, or whether it has none. An image that was loaded with
// the tag of a registry can have a digest of it too: CRI-O makes one of each tag.
func isUnpullable(digests []string) bool {
	return !slices.ContainsFunc(digests, func(d string) bool { return !loaded.MatchString(d) })
}

// ofTags also returns the tag that decides. It is empty unless the image has several tags.
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

// withTag returns the object of an image as if tag were its only tag.
func withTag(object map[string]any, tag string) map[string]any {
	one, spec := maps.Clone(object), maps.Clone(mapOf(object, "spec"))
	spec["tags"] = []any{tag}
	one["spec"] = spec
	return one
}

// together combines the facts for two tags: the image is eligible only with both, and expires at the later of the two
// times.
func together(a, b *policy.Facts) policy.Facts {
	all := policy.Facts{Selected: a.Selected && b.Selected, Eligible: a.Eligible && b.Eligible}
	if !all.Eligible {
		return all
	}
	if !a.Start.IsZero() && !b.Start.IsZero() {
		all.Start = policy.Latest(a.Start, b.Start)
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

// keepsLonger reports whether the facts for one tag keep the image longer than those for the others.
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

// tagError names the tag for which an expression failed.
type tagError struct {
	tag string
	err error
}

// Error implements error.
func (e *tagError) Error() string { return shorten("tag " + e.tag + ": " + e.err.Error()).Error() }

// Unwrap returns the error of the expression.
func (e *tagError) Unwrap() error { return e.err }

// decides returns the tag for which a rule keeps an image longest, or for which the rule fails. It is empty for an
// image without several tags and for any other object.
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
