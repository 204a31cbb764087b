// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// conditionsSay determines the outcome from condition types. If the conditions contradict each other, the object
// failed.
func conditionsSay(success, failure []string) func(map[string]any) outcome {
	return func(status map[string]any) outcome {
		result := running
		for _, entry := range conditionsOf(status) {
			c := conditionOf(entry)
			switch kind := textOf(c, "type"); {
			case !c.isTrue():
			case slices.Contains(failure, kind):
				return failed
			case slices.Contains(success, kind):
				result = succeeded
			}
		}
		return result
	}
}

// conditionSince takes the end from the conditions of these types: the latest transition of the conditions that are
// True.
func conditionSince(kinds ...string) func(map[string]any) (time.Time, error) {
	return func(status map[string]any) (time.Time, error) { return latestTrue(status, kinds...) }
}

// phaseSays determines the outcome from status.phase.
func phaseSays(success string, failures ...string) func(map[string]any) outcome {
	return func(status map[string]any) outcome {
		switch phase := textOf(status, "phase"); {
		case phase == success:
			return succeeded
		case slices.Contains(failures, phase):
			return failed
		default:
			return running
		}
	}
}

// fieldOr takes the end from a status field. If the field is absent, it calls otherwise.
func fieldOr(field string, otherwise func(map[string]any) (time.Time, error)) func(map[string]any) (time.Time, error) {
	return func(status map[string]any) (time.Time, error) {
		t, err := timeOf(status, field)
		if err != nil {
			return time.Time{}, fmt.Errorf("status.%s: %w", field, err)
		}
		if t.IsZero() && otherwise != nil {
			return otherwise(status)
		}
		return t, nil
	}
}

// workloadOutcome reads the reason of the Finished condition, which Kueue sets from the end of the job. For other
// reasons, such as OutOfSync, the object has ended, but has neither succeeded nor failed.
func workloadOutcome(status map[string]any) outcome {
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if !c.is("Finished") || !c.isTrue() {
			continue
		}
		switch textOf(c, "reason") {
		case "Succeeded":
			return succeeded
		case "Failed", "FailedToStart", "AdmissionChecksRejected":
			return failed
		default:
			return ended
		}
	}
	return running
}

// tektonOutcome reads the condition Succeeded. Its status is Unknown while the run continues.
func tektonOutcome(status map[string]any) outcome {
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if !c.is("Succeeded") {
			continue
		}
		switch textOf(c, "status") {
		case "True":
			return succeeded
		case "False":
			return failed
		}
	}
	return running
}

// succeededSince returns when the condition Succeeded changed to its current status.
func succeededSince(status map[string]any) (time.Time, error) {
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if c.is("Succeeded") {
			return c.since()
		}
	}
	return time.Time{}, nil
}

// podEnd returns when the last container of a finished Pod ended, including init containers. A container without an end
// time never ran, or its node was lost. The Pod then ended at its last change at the latest, so the conditions and
// status.startTime count too. A Pod that its node rejects gets its startTime on rejection. A time that is too late is
// safe; one that is too early is not.
func podEnd(status map[string]any) (time.Time, error) {
	end, complete, err := lastContainerEnd(status)
	if err != nil || complete {
		return end, err
	}
	changed, err := latestTransition(status)
	if err != nil {
		return time.Time{}, err
	}
	started, err := timeOf(status, "startTime")
	if err != nil {
		return time.Time{}, fmt.Errorf("status.startTime: %w", err)
	}
	return policy.Latest(end, changed, started), nil
}

// lastContainerEnd returns the latest finishedAt of all containers, and whether every container that was to run has
// one.
func lastContainerEnd(status map[string]any) (latest time.Time, complete bool, err error) {
	for _, field := range [...]string{"containerStatuses", "initContainerStatuses"} {
		list, _ := status[field].([]any)
		if field == "containerStatuses" {
			complete = len(list) > 0
		}
		for _, entry := range list {
			t, err := containerEnd(entry)
			if err != nil {
				return time.Time{}, false, fmt.Errorf("status.%s: %w", field, err)
			}
			complete = complete && !t.IsZero()
			latest = policy.Latest(latest, t)
		}
	}
	return latest, complete, nil
}

// containerEnd returns the end of a container. It returns zero if there is none, and for 1970, which the kubelet writes
// if the container runtime reports no time.
func containerEnd(entry any) (time.Time, error) {
	container, _ := entry.(map[string]any)
	end, err := timeOf(mapOf(mapOf(container, "state"), "terminated"), "finishedAt")
	if !end.After(time.Unix(0, 0)) {
		end = time.Time{}
	}
	return end, err
}
