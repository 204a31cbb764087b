// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/sunset-k8s/sunset/policy"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// unusedCondition is the type of the condition of a PersistentVolumeClaim that says whether Pods use it (KEP-5541).
const unusedCondition = "Unused"

func aboutClaims(target v1alpha1.Target) bool {
	apiVersion, kind := policy.ClaimKind.ToAPIVersionAndKind()
	return target.APIVersion == apiVersion && target.Kind == kind
}

// latestUse returns the later of two times: since when a mark says that nothing refers to a claim, and when its condition Unused last
// changed. Without the condition, it returns the mark. A condition that does not say when it changed is an error. If the marks of the
// claim are written again, the mark becomes this time.
func latestUse(mark time.Time, claim map[string]any) (time.Time, error) {
	for _, entry := range conditionsOf(mapOf(claim, "status")) {
		c := conditionOf(entry)
		if !c.is(unusedCondition) {
			continue
		}
		changed, err := c.since()
		if err != nil {
			return time.Time{}, err
		}
		if !mark.IsZero() {
			mark = policy.Latest(mark, changed)
		}
	}
	return mark, nil
}
