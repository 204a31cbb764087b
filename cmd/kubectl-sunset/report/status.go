// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/status"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// OfStatus returns the page of the statuses of policies.
func OfStatus(l *status.List, at time.Time) *Page {
	p := &Page{Title: "Status of policies", Facts: []Fact{{"At", preview.FormatTime(at)}, {"Policies", fmt.Sprint(len(l.Items))}}}
	row := status.NewTable(text.Plain, true).Row
	p.add("Policies", Table{
		Columns: Columns(status.Header...),
		Len:     len(l.Items),
		Row:     func(i int) []string { return row(&l.Items[i], at) },
	})
	if next := l.DeletedNext(); len(next) > 0 {
		p.add("Deleted next", deletedNext(next, at))
	}
	if l.HasCauses() {
		p.add("Causes that stop deletions", causes(l))
	}
	return p
}

func deletedNext(next []status.DeletedNext, at time.Time) Table {
	return Table{
		Columns: Columns("Namespace", "Kind", "Name", "Due", "In", "Rule"),
		Len:     len(next),
		Row: func(i int) []string {
			n := &next[i]
			due := n.DueTime.Time
			return []string{cmp.Or(n.Namespace, "-"), n.Kind, n.Name, preview.FormatTime(due), preview.Away(due, at), n.Policy + "/" + n.Rule}
		},
	}
}

func causes(l *status.List) Table {
	var rows [][]string
	for i := range l.Items {
		p := &l.Items[i]
		for _, c := range p.Causes {
			rows = append(rows, []string{cmp.Or(p.Namespace, "-"), p.Name, cmp.Or(c.Type, "-"), c.Reason, c.Message})
		}
	}
	return Table{Columns: Columns("Namespace", "Policy", "Condition", "Reason", "Message"), Len: len(rows), Row: func(i int) []string { return rows[i] }}
}
