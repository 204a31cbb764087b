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

// unusedChanged returns when the condition Unused of a claim last changed; zero without the condition. A condition that does not say
// when it changed is an error.
func unusedChanged(claim map[string]any) (changed time.Time, err error) {
	for _, entry := range conditionsOf(mapOf(claim, "status")) {
		c := conditionOf(entry)
		if !c.is(unusedCondition) {
			continue
		}
		t, err := c.since()
		if err != nil {
			return time.Time{}, err
		}
		changed = policy.Latest(changed, t)
	}
	return changed, nil
}
