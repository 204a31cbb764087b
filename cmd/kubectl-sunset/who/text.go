// SPDX-License-Identifier: Apache-2.0

package who

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/audit"
)

// WriteText writes a paragraph about each deletion.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, d := range r.Deletions {
		d.write(&b)
	}
	if r.ExistsSince != nil {
		fmt.Fprintf(&b, "An object of this name exists now. It was created at %s.\n", r.ExistsSince.UTC().Format(time.RFC3339))
	}
	if len(r.Deletions) == 0 {
		b.WriteString("No deletion found.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d Deletion) write(w io.Writer) {
	d.By = text.EscapeLine(d.By)
	what, at := text.EscapeLine(d.Object.String()), d.Time.UTC().Format(time.RFC3339)
	switch {
	case d.Time.IsZero():
		fmt.Fprintf(w, "%s deletes %s now, or has just deleted it.\n", d.By, what)
	case d.Result == Gone:
		fmt.Fprintf(w, "%s asked to delete %s, which no longer existed at %s.\n", d.By, what, at)
	case d.Result == Absent:
		fmt.Fprintf(w, "%s was about to delete %s, but another client had deleted it before %s.\n", d.By, what, at)
	case d.Result == None:
		fmt.Fprintf(w, "%s archived %s at %s, to delete it. The archive has no result.\n", d.By, what, at)
	case d.Result == Collection:
		fmt.Fprintf(w, "%s deleted a collection of objects of the kind, maybe also %s, at %s.\n", d.By, what, at)
	case d.Result == audit.Deleted:
		fmt.Fprintf(w, "%s deleted %s at %s.\n", d.By, what, at)
	default:
		fmt.Fprintf(w, "%s sent a request to delete %s, and had no definite answer at %s.\n", d.By, what, at)
	}
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-12s%s\n", name, text.EscapeLine(value))
		}
	}
	field("uid", string(d.Object.UID))
	if record := d.Record; record != nil {
		writeRecord(record, field)
	}
	field("note", d.Note)
	field("source", d.Source)
	fmt.Fprintln(w)
}

// writeRecord writes what only a record has.
func writeRecord(r *audit.Record, field func(name, value string)) {
	field("version", r.Object.ResourceVersion)
	field("rule", fmt.Sprintf("%s of policy %s", r.Rule, r.Policy))
	if r.Owner != nil {
		field("owner", fmt.Sprintf("%s, deleted instead of %s", r.Owner, r.Object))
	}
	field("reason", fmt.Sprintf("%s, due since %s", r.Reason, r.DueTime.UTC().Format(time.RFC3339)))
	if r.Hash != "" {
		field("policy", fmt.Sprintf("generation %s, hash %s", strconv.FormatInt(r.Generation, 10), r.Hash))
	}
	field("approvals", strings.Join(r.Approvals, ", "))
	field("outcome", r.Outcome)
	if a := r.Archive; a != nil {
		field("archive", fmt.Sprintf("%s, %s#%d", a.Name, a.Segment, a.Line))
	}
	field("snapshot", r.Snapshot)
	field("account", r.ServiceAccount)
	field("node", r.Node)
	field("trace", r.TraceID)
}
