package preview

import (
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/policy"
)

// What is how a verdict differs from that of the rules in force. The words are stable: JSON and YAML have them.
type What string

// What goes is what is deleted now or later. What only a dry run would delete does not go.
const (
	NewlyGoes What = "NewlyGoes" // goes, and did not
	NewlyKept What = "NewlyKept" // does not go any more
	Sooner    What = "Sooner"    // goes before it did
	Later     What = "Later"     // goes after it did
)

// Change is one subject about which the rules in force decide something else. Both verdicts are of the same moment and
// the same version of the subject; where no rule selects it the reason is NotSelected.
//
// This is also its format in JSON and YAML, which is stable.
type Change struct {
	APIVersion string  `json:"apiVersion,omitempty"`
	Kind       string  `json:"kind"`
	Namespace  string  `json:"namespace,omitempty"`
	Name       string  `json:"name"`
	What       What    `json:"change"`
	Before     Outcome `json:"before"`
	After      Outcome `json:"after"`
}

// Outcome is a verdict without what it is about.
type Outcome struct {
	Action policy.Action `json:"action"`
	Reason policy.Reason `json:"reason"`
	Due    Time          `json:"dueTime,omitzero"`
	policy.RuleID
}

func outcomeOf(v policy.Verdict) Outcome { return Outcome{v.Action, v.Reason, Time{v.Due}, v.Rule} }

// changeOf is empty where both come to the same: another rule or reason alone changes nothing, and what is due goes now,
// however long it has been.
func changeOf(before, after policy.Verdict, at time.Time) What {
	switch did, does := isDeleted(before), isDeleted(after); {
	case !did && does:
		return NewlyGoes
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

// end is when a subject goes, at the earliest now.
func end(v policy.Verdict, at time.Time) time.Time {
	if v.Action == policy.Delete {
		return at
	}
	return v.Due
}

// unselected is the verdict on what no rule selects.
var unselected = policy.Verdict{Reason: policy.NotSelected}

// compare finds the changes from the rows of one judge to those of another, both sorted.
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
