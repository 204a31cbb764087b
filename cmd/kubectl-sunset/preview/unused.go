// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
)

// WriteUnused writes the objects of a result, since when they are marked, and failures. A wide table has more columns.
func WriteUnused(w io.Writer, r *Result, wide bool) error {
	if len(r.Rows) == 0 {
		fmt.Fprintln(w, "Sunset found no unused objects.")
		return writeFailures(w, text.StyleOf(w), r.Failures)
	}
	titles, row := r.Unused()
	if wide {
		titles = append(titles, "TTL", "Due")
	}
	for i := range titles {
		titles[i] = strings.ToUpper(titles[i])
	}
	cells := func(i int) []string {
		if v := &r.Rows[i].Verdict; wide {
			return append(row(i), cmp.Or(DecisionOf(*v).TTL, "-"), due(v.Due, r.At))
		}
		return row(i)
	}
	if err := text.NewTable(titles...).Write(w, len(r.Rows), cells); err != nil {
		return err
	}
	if r.HasSizes() {
		var all policy.Amount
		for i := range r.Rows {
			all = all.Plus(r.Rows[i].Storage)
		}
		fmt.Fprintf(w, "\nTotal size: %s\n", r.ShownStorage(all))
		writeEstimates(w, r)
	}
	return writeFailures(w, text.StyleOf(w), r.Failures)
}

// Unused returns the table of unused objects: namespace, kind, name, the size if any object has one, since when each is marked, and its
// rule. The numbers of a column whose title begins with ">" are aligned to the right.
func (r *Result) Unused() (titles []string, row func(i int) []string) {
	titles, sizes := []string{"Namespace", "Kind", "Name", "Since", "Rule"}, r.HasSizes()
	if sizes {
		titles = slices.Insert(titles, 3, ">Size")
	}
	return titles, func(i int) []string {
		row, since := &r.Rows[i], "unknown"
		if start := row.Verdict.Start; !start.Equal(r.At) { // an object without a mark counts as marked now
			since = FormatTime(start)
		}
		cells := []string{cmp.Or(row.Namespace, "-"), row.Kind, row.Name, since, row.Verdict.Rule.String()}
		if sizes {
			cells = slices.Insert(cells, 3, r.ShownStorage(row.Storage))
		}
		return cells
	}
}
