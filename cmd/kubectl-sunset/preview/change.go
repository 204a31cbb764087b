// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// ChangeType names the difference between a decision and that of the rules in force. The values are stable: JSON and YAML contain them.
type ChangeType string

// An object goes if it is deleted now or later. An object that only a dry run would delete is kept.
const (
	NewlyDeleted ChangeType = "NewlyDeleted" // deleted; the rules in force keep it
	NewlyKept    ChangeType = "NewlyKept"    // kept; the rules in force delete it
	Sooner       ChangeType = "Sooner"       // deleted sooner than by the rules in force
	Later        ChangeType = "Later"        // deleted later than by the rules in force
)

// Change is a subject for which the rules in force decide differently. Both decisions are for the same time and the same
// version of the subject. The reason is NotSelected if no rule selects it.
//
// Change is also its format in JSON and YAML, which is stable.
type Change struct {
	APIVersion string     `json:"apiVersion,omitempty"`
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace,omitempty"`
	Name       string     `json:"name"`
	Type       ChangeType `json:"change"`
	Before     Outcome    `json:"before"`
	After      Outcome    `json:"after"`
}

// Outcome is a decision without its subject.
type Outcome struct {
	Action policy.Action `json:"action"`
	Reason policy.Reason `json:"reason"`
	Due    Time          `json:"dueTime,omitzero"`
	policy.RuleID
}

func outcomeOf(v policy.Verdict) Outcome { return Outcome{v.Action, v.Reason, Time{v.Due}, v.Rule} }

// changeOf returns an empty string if the outcome is the same. Another rule or reason alone is not a change. All due objects
// are deleted now, no matter how long they have been due.
func changeOf(before, after policy.Verdict, at time.Time) ChangeType {
	switch did, does := isDeleted(before), isDeleted(after); {
	case !did && does:
		return NewlyDeleted
	case did && !does:
		return NewlyKept
	case !did:
		return ""
	}
	switch was, is := end(before, at), end(after, at); {
	case is.Before(was):
		return Sooner
	case is.After(was):
		return Later
	default:
		return ""
	}
}

func isDeleted(v policy.Verdict) bool { return v.Action != policy.Keep }

// end returns when a subject is deleted; at the earliest now.
func end(v policy.Verdict, at time.Time) time.Time {
	if v.Action == policy.Delete {
		return at
	}
	return v.Due
}

// unselected is the decision about an object that no rule selects.
var unselected = policy.Verdict{Reason: policy.NotSelected}

// compare returns the changes between the rows of two judges. Both must be sorted.
func compare(before, after []Row, at time.Time) []Change {
	var changes []Change
	add := func(row *Row, was, is policy.Verdict) {
		if what := changeOf(was, is, at); what != "" {
			changes = append(changes, Change{row.APIVersion, row.Kind, row.Namespace, row.Name, what, outcomeOf(was), outcomeOf(is)})
		}
	}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) > 0 && after[0].unchanged:
			after = after[1:]
		case len(after) == 0 || len(before) > 0 && before[0].compare(after[0]) < 0:
			add(&before[0], before[0].Verdict, unselected)
			before = before[1:]
		case len(before) == 0 || before[0].compare(after[0]) > 0:
			add(&after[0], unselected, after[0].Verdict)
			after = after[1:]
		default:
			add(&after[0], before[0].Verdict, after[0].Verdict)
			before, after = before[1:], after[1:]
		}
	}
	return changes
}

func sortChanges(changes []Change) {
	row := func(c Change) Row {
		return Row{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
	}
	slices.SortFunc(changes, func(a, b Change) int { return row(a).compare(row(b)) })
}
