// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy/v1alpha1"
)

// Table is a table of policies. A wide table has more columns.
type Table struct {
	*text.Table
	columns int
}

const readyColumn = 3

// Header is the header of a wide table.
var Header = []string{"NAMESPACE", "NAME", "MODE", "READY", ">MATCHED", ">DUE", ">BLOCKED", ">ERRORS", ">DELETED", "NEXT", ">+1H", ">+24H", ">+7D", ">HELD", ">SIZE"}

// narrow is the number of columns of a table that is not wide.
const narrow = 10

// NewTable returns a table for a writer.
func NewTable(style text.Style, wide bool) *Table {
	header := Header
	if !wide {
		header = Header[:narrow]
	}
	t := &Table{text.NewTable(header...), len(header)}
	t.Paint = func(column int, cell string) string {
		switch {
		case column != readyColumn:
			return cell
		case cell == string(metav1.ConditionTrue):
			return style.Good(cell)
		default:
			return style.Warning(cell)
		}
	}
	return t
}

// Row returns the cells of a policy. The column NEXT is relative to a time. A number that is not known is "-".
func (t *Table) Row(p *Policy, at time.Time) []string {
	next := "-"
	if len(p.Next) > 0 {
		next = preview.Away(p.Next[0].DueTime.Time, at)
	}
	cells := []string{cmp.Or(p.Namespace, "-"), p.Name, p.Mode, p.shownReady()}
	var due struct{ now, hour, day, week *int64 }
	size := "-"
	if d := p.Due; d != nil {
		due.now, due.hour, due.day, due.week = &d.Now, &d.Hour, &d.Day, &d.Week
		if p.Storage != nil {
			size = preview.FormatBytes(p.Storage.Due.Now.Bytes)
		}
	}
	cells = append(cells, shown(p.Matched, due.now, p.Blocked, p.Errors, p.Deleted)...)
	cells = append(cells, next)
	cells = append(cells, shown(due.hour, due.day, due.week, p.Held)...)
	return append(cells, size)[:t.columns]
}

// shown returns the cells of numbers, which may not be known.
func shown(numbers ...*int64) []string {
	cells := make([]string, len(numbers))
	for i, n := range numbers {
		cells[i] = "-"
		if n != nil {
			cells[i] = strconv.FormatInt(*n, 10)
		}
	}
	return cells
}

func (p *Policy) shownReady() string {
	switch {
	case p.Reason == noStatus:
		return "-"
	case p.Reason == outdatedStatus, p.Ready == metav1.ConditionTrue:
		return string(p.Ready)
	default:
		return string(p.Ready) + " (" + p.Reason + ")"
	}
}

// WriteText writes a table, and below it the objects that are deleted next, and the causes that stop deletions.
func (l *List) WriteText(w io.Writer, wide bool, at time.Time) error {
	if len(l.Items) == 0 {
		_, err := fmt.Fprintln(w, "No policies found.")
		return err
	}
	style := text.StyleOf(w)
	t := NewTable(style, wide)
	if err := t.Write(w, len(l.Items), func(i int) []string { return t.Row(&l.Items[i], at) }); err != nil {
		return err
	}
	l.writeNext(w, at)
	if l.HasCauses() {
		fmt.Fprintln(w, "\nCauses that stop deletions:")
	}
	for i := range l.Items {
		l.Items[i].writeCauses(w, style)
	}
	return nil
}

// DeletedNext is an object that a policy deletes next.
type DeletedNext struct {
	Next
	Policy string
}

// DeletedNext returns the objects that policies delete next, by due time: at most five of each policy.
func (l *List) DeletedNext() []DeletedNext {
	var all []DeletedNext
	for _, p := range l.Items {
		for _, n := range p.Next {
			if p.enforcing {
				all = append(all, DeletedNext{n, p.Title()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b DeletedNext) int { return a.DueTime.Compare(b.DueTime.Time) })
	return all
}

// writeNext writes the objects that policies delete next.
func (l *List) writeNext(w io.Writer, at time.Time) {
	rows := l.DeletedNext()
	if len(rows) == 0 {
		return
	}
	rows = rows[:min(len(rows), nextShown)]
	fmt.Fprintln(w, "\nDeleted next:")
	_ = text.NewTable("  NAMESPACE", "KIND", "NAME", "DUE", "RULE").Write(w, len(rows), func(i int) []string {
		r := &rows[i]
		return []string{"  " + cmp.Or(r.Namespace, "-"), r.Kind, r.Name, preview.Away(r.DueTime.Time, at), r.Policy + "/" + r.Rule}
	})
}

// Title is the name of a policy; NAMESPACE/NAME for a RetentionPolicy.
func (p *Policy) Title() string {
	if p.Namespace != "" {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

func (p *Policy) writeCauses(w io.Writer, style text.Style) {
	for _, c := range p.Causes {
		what := c.Reason
		if c.Type == v1alpha1.ConditionBlocked || c.Type == v1alpha1.ConditionDelayed {
			what = c.Type
		}
		for _, line := range style.Wrap(fmt.Sprintf("%s %s: %s: %s", p.Kind, p.Title(), what, c.Message), 2, 6) {
			fmt.Fprintln(w, line)
		}
	}
}
