// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// condition is one entry of status.conditions.
type condition map[string]any

func (c condition) is(kind string) bool { return textOf(c, "type") == kind }
func (c condition) isTrue() bool        { return textOf(c, "status") == "True" }

// since returns when the condition last changed. A condition without this time is an error: a TTL that starts at an
// unknown time never ends.
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

// conditionsOf returns the entries of status.conditions.
func conditionsOf(status map[string]any) []any {
	list, _ := status["conditions"].([]any)
	return list
}

// conditionOf reads an entry. An entry that is not a JSON object has no type and no status.
func conditionOf(entry any) condition {
	c, _ := entry.(map[string]any)
	return c
}

// isTrue reports whether a condition of one of these types has status True.
func isTrue(status map[string]any, kinds ...string) bool {
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		if c.isTrue() && slices.Contains(kinds, textOf(c, "type")) {
			return true
		}
	}
	return false
}

// firstTrue returns when the condition of the first of these types that has status True last changed; zero if none is
// True.
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

// latestTrue returns when the last of the conditions of these types that have status True changed; zero if none is
// True.
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
		latest = policy.Latest(latest, t)
	}
	return latest, nil
}

// latestTransition returns the latest lastTransitionTime of all conditions; zero if none has one.
func latestTransition(status map[string]any) (time.Time, error) {
	var latest time.Time
	for _, entry := range conditionsOf(status) {
		c := conditionOf(entry)
		t, err := timeOf(c, "lastTransitionTime")
		if err != nil {
			return time.Time{}, fmt.Errorf("condition %s: lastTransitionTime: %w", textOf(c, "type"), err)
		}
		latest = policy.Latest(latest, t)
	}
	return latest, nil
}
