package engine

import (
	"fmt"
	"slices"
	"time"
)

// condition is one entry of status.conditions.
type condition map[string]any

func (c condition) is(kind string) bool { return textOf(c, "type") == kind }
func (c condition) isTrue() bool        { return textOf(c, "status") == "True" }

// since is when the condition last changed. A condition that does not say so is an error, because a wait that starts
// at an unknown time has no end.
func (c condition) since() (time.Time, error) {
	t, err := timeOf(c, "lastTransitionTime")
	if err != nil {
		return time.Time{}, fmt.Errorf("condition %s: lastTransitionTime: %w", textOf(c, "type"), err)
	}
	if t.IsZero() {
		return time.Time{}, fmt.Errorf("condition %s has no lastTransitionTime", textOf(c, "type"))
	}
	return t, nil
}

// conditionsOf are the entries of status.conditions.
func conditionsOf(status map[string]any) []any {
	list, _ := status["conditions"].([]any)
	return list
}

// conditionOf reads an entry. What is no condition has no type and no status.
func conditionOf(entry any) condition {
	c, _ := entry.(map[string]any)
	return c
}

// isTrue reports whether one of the types is the type of a condition with status True.
func isTrue(status map[string]any, kinds ...string) bool {
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if c.isTrue() && slices.Contains(kinds, textOf(c, "type")) {
			return true
		}
	}
	return false
}

// firstTrue is when the first of the types that has a condition with status True got it; zero when none has.
func firstTrue(status map[string]any, kinds []string) (time.Time, error) {
	for _, kind := range kinds {
		for _, entry := range conditionsOf(status) {
			c := conditionOf(entry)
			if c.is(kind) && c.isTrue() {
				return c.since()
			}
		}
	}
	return time.Time{}, nil
}

// latestTrue is when the last of the types got its condition with status True; zero when none has one.
func latestTrue(status map[string]any, kinds ...string) (time.Time, error) {
	var latest time.Time
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if !c.isTrue() || !slices.Contains(kinds, textOf(c, "type")) {
			continue
		}
		t, err := c.since()
		if err != nil {
			return time.Time{}, err
		}
		latest = later(latest, t)
	}
	return latest, nil
}

// latestTransition is when any condition last changed; zero when there is none that says so.
func latestTransition(status map[string]any) (time.Time, error) {
	var latest time.Time
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		t, err := timeOf(c, "lastTransitionTime")
		if err != nil {
			return time.Time{}, fmt.Errorf("condition %s: lastTransitionTime: %w", textOf(c, "type"), err)
		}
		latest = later(latest, t)
	}
	return latest, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
