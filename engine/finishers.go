package engine

import (
	"fmt"
	"slices"
	"time"
)

// conditionsSay judges by condition types. Of contradicting conditions the failure counts.
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

// conditionSince takes the end from the conditions: the latest transition of those that are True.
func conditionSince(kinds ...string) func(map[string]any) (time.Time, error) {
	return func(status map[string]any) (time.Time, error) { return latestTrue(status, kinds...) }
}

// phaseSays judges by status.phase.
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

// fieldOr takes the end from a status field, or asks otherwise while the field is not there.
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

// workloadOutcome reads the reason of the Finished condition, which Kueue sets from the job's own end. Other reasons,
// such as OutOfSync, are an end that is neither.
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

// tektonOutcome reads the condition Succeeded, whose status is Unknown while the run is going on.
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

// succeededSince is when the condition Succeeded got the status it has.
func succeededSince(status map[string]any) (time.Time, error) {
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if c.is("Succeeded") {
			return c.since()
		}
	}
	return time.Time{}, nil
}

// podEnd is when the last container of a finished Pod ended, init containers included. A container that does not say
// so never ran, or its node was lost: then the Pod ended with its last change at the latest, so the conditions and the
// start, which a Pod rejected by its node gets on rejection, count too. Later is safe; earlier is not.
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
	return later(end, later(changed, started)), nil
}

// lastContainerEnd is the latest finishedAt of all containers, and whether every container that was to run has one.
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
			latest = later(latest, t)
		}
	}
	return latest, complete, nil
}

// containerEnd is zero for a container that does not say when it ended, and for one that says 1970: so the kubelet writes the time of a
// runtime that has none.
func containerEnd(entry any) (time.Time, error) {
	container, _ := entry.(map[string]any)
	end, err := timeOf(mapOf(mapOf(container, "state"), "terminated"), "finishedAt")
	if !end.After(time.Unix(0, 0)) {
		end = time.Time{}
	}
	return end, err
}
