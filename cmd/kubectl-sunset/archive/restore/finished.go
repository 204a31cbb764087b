// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The fields of a status that say that an object of an unknown kind ran to completion, in lower case.
var (
	endTimes      = []string{"completionTime", "completionTimestamp", "finishedAt", "endTime"}
	endPhases     = []string{"completed", "complete", "succeeded", "failed", "partiallyfailed", "failedvalidation", "error", "finished", "done", "terminated", "aborted"}
	endConditions = []string{"completed", "complete", "succeeded", "failed", "finished"}
)

// finishedBy returns the field of the status by which an object ran to completion; empty if none says so.
func finishedBy(object map[string]any) string {
	for _, name := range endTimes {
		if value, ok, _ := unstructured.NestedFieldNoCopy(object, "status", name); ok && value != nil && value != "" {
			return "status." + name
		}
	}
	for _, path := range []string{"status.phase", "status.state", "status.state.phase"} {
		phase, _, _ := unstructured.NestedString(object, strings.Split(path, ".")...)
		if slices.Contains(endPhases, strings.ToLower(phase)) {
			return path + " " + phase
		}
	}
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		isOver := condition["status"] == "True" || condition["status"] == "False" && kind == "Succeeded"
		if isOver && slices.Contains(endConditions, strings.ToLower(kind)) {
			return "condition " + kind
		}
	}
	return ""
}
