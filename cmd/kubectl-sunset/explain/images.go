// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/engine"
	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// imageSettings returns the settings that only rules for images have.
func (in *Input) imageSettings(r *policy.Rule) []Setting {
	if !r.OnNodes() {
		return nil
	}
	settings := []Setting{{Name: "minAge", Value: span(r.Images.MinAge), From: theRule}}
	if !r.Images.HasThresholds {
		return settings
	}
	thresholds := Setting{Name: "thresholds", Value: fmt.Sprintf("%d %% down to %d %%", r.Images.High, r.Images.Low), From: theRule}
	if f := in.Filesystem; f != nil {
		thresholds.Note = fmt.Sprintf("the filesystem is %d %% full", f.UsedPercent)
		if int(f.UsedPercent) >= r.Images.High && acts(r) {
			thresholds.Note += ": the agent deletes the images that were unused for longest"
		}
	}
	return append(settings, thresholds)
}

// acts reports whether a rule may delete images now.
func acts(r *policy.Rule) bool {
	return r.Mode == v1alpha1.Enforce && !r.Unapproved && !r.Suspended
}

// fullFilesystem says when a rule with thresholds deletes images; empty for any other rule.
func fullFilesystem(r *policy.Rule) string {
	if !r.Images.HasThresholds {
		return ""
	}
	return fmt.Sprintf("the filesystem of the images is %d %% full: rule %s deletes the images that were unused for longest", r.Images.High, r.ID)
}

// Image describes an image on a page.
type Image struct {
	Tags        []string     `json:"tags"`
	Digests     []string     `json:"digests"`
	Bytes       int64        `json:"bytes"`
	Pinned      bool         `json:"pinned"`
	InUse       bool         `json:"inUse"`
	FirstSeen   preview.Time `json:"firstSeen,omitzero"`
	LastUsed    preview.Time `json:"lastUsed,omitzero"`
	UnusedSince preview.Time `json:"unusedSince,omitzero"`
}

// imageOf converts an image; nil for nil. since is the start of the image's age.
func imageOf(i *engine.Image, since time.Time) *Image {
	if i == nil {
		return nil
	}
	image := &Image{
		Tags: append([]string{}, i.Tags...), Digests: append([]string{}, i.Digests...), Bytes: i.SizeBytes, Pinned: i.Pinned, InUse: i.InUse,
		FirstSeen: preview.Time{Time: i.FirstSeen}, LastUsed: preview.Time{Time: i.LastUsed},
	}
	if !i.InUse {
		image.UnusedSince.Time = since
	}
	return image
}

// image writes the image's name, because its ID is not readable, its size, and how long it has been unused.
func (e *textWriter) image(o *Object) {
	i := o.Image
	if i == nil {
		return
	}
	name := "an image without a name"
	if names := slices.Concat(i.Tags, i.Digests); len(names) > 0 {
		name = names[0]
	}
	if more := len(i.Tags) - 1; more > 0 {
		name += fmt.Sprintf(" +%d", more)
	}
	e.line(0, "%s, %s", name, preview.FormatBytes(i.Bytes))
	var since []string
	if !i.FirstSeen.IsZero() {
		since = append(since, "first seen "+preview.FormatTime(i.FirstSeen.Time))
	}
	switch {
	case i.InUse:
		since = append(since, "in use")
	case !i.UnusedSince.IsZero():
		since = append(since, "unused since "+preview.FormatTime(i.UnusedSince.Time))
	}
	if len(since) > 0 {
		e.line(0, "%s", strings.Join(since, "; "))
	}
}
