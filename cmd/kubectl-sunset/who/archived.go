// SPDX-License-Identifier: Apache-2.0

package who

import (
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	records "github.com/sunset-k8s/sunset/policy/archive"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// The results that only archives have, besides those of package audit.
const (
	Gone   = string(records.Gone)   // the object no longer existed after a request without a definite answer
	Absent = string(records.Absent) // another client deleted the object before Sunset asked to delete it
	None   = "none"                 // the archive has no result: Sunset archived the object to delete it, and may have deleted it
)

// AddArchived adds what an archive says about the object: a record, or a dependent in the record of another object, which Sunset deleted.
func (r *Report) AddArchived(e archive.Entry, from string) {
	d := Deletion{
		Time: e.ResultAt, By: Sunset, Result: e.Result, Object: e.Object, Source: "archive " + from,
		Note: "archived at " + e.ArchivedAt.UTC().Format(time.RFC3339),
	}
	switch d.Result {
	case None:
		d.Time = e.ArchivedAt
	case audit.Deleted:
		d.Note += "; the deletion was between this time and the one above"
	}
	d.Record = &audit.Record{
		Time: d.Time, Result: d.Result, Object: e.Object, Policy: e.Policy, Rule: e.Rule, Reason: e.Reason, DueTime: e.Due, Outcome: e.Outcome,
		Archive: &audit.Receipt{Name: from, Segment: e.Segment, Line: e.Line},
	}
	if e.Dependent != "" {
		d.Note += fmt.Sprintf("; garbage collection deletes %s with it", e.Dependent)
	}
	r.Add(d)
}
