// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
	"github.com/sunset-k8s/sunset/policy"
)

// WriteUnused writes the objects of a result, since when they are marked, and failures.
func WriteUnused(w io.Writer, r *Result) error {
	if len(r.Rows) == 0 {
		fmt.Fprintln(w, "No object is known to be unused.")
		return writeFailures(w, text.StyleOf(w), r.Failures)
	}
	header, sizes := []string{"NAMESPACE", "KIND", "NAME", "SINCE", "RULE"}, r.HasSizes()
	if sizes {
		header = slices.Insert(header, 3, ">SIZE")
	}
	err := text.NewTable(header...).Write(w, len(r.Rows), func(i int) []string {
		row, since := &r.Rows[i], "unknown"
		if start := row.Verdict.Start; !start.Equal(r.At) { // an object without a mark counts as marked now
			since = FormatTime(start)
		}
		cells := []string{cmp.Or(row.Namespace, "-"), row.Kind, row.Name, since, row.Verdict.Rule.String()}
		if sizes {
			cells = slices.Insert(cells, 3, r.ShownStorage(row.Storage))
		}
		return cells
	})
	if err != nil {
		return err
	}
	if sizes {
		var all policy.Amount
		for i := range r.Rows {
			all = all.Plus(r.Rows[i].Storage)
		}
		fmt.Fprintf(w, "\nTotal size: %s\n", r.ShownStorage(all))
		writeEstimates(w, r)
	}
	return writeFailures(w, text.StyleOf(w), r.Failures)
}
