package explain

import (
	"fmt"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// imagesOf are the settings that only rules about images have.
func (in *Input) imagesOf(r *policy.Rule) []Setting {
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

// acts reports whether images go on the word of a rule.
func acts(r *policy.Rule) bool {
	return r.Mode == v1alpha1.Enforce && !r.Unapproved && !r.Suspended
}

// full is what has images go by a rule that lets them go for want of space; empty for any other.
func full(r *policy.Rule) string {
	if !r.Images.HasThresholds {
		return ""
	}
	return fmt.Sprintf("the filesystem of the images is %d %% full: rule %s deletes the images that were unused for longest", r.Images.High, r.ID)
}
