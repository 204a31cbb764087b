// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"fmt"
	"io"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/text"
)

// WriteUnused writes the objects of a result, since when they are marked, and failures.
func WriteUnused(w io.Writer, r *Result) error {
	if len(r.Rows) == 0 {
		fmt.Fprintln(w, "Sunset found no unused objects.")
		return writeFailures(w, text.StyleOf(w), r.Failures)
	}
	if err := text.NewTable("NAMESPACE", "KIND", "NAME", "SINCE", "RULE").Write(w, len(r.Rows), r.UnusedRow); err != nil {
		return err
	}
	return writeFailures(w, text.StyleOf(w), r.Failures)
}

// UnusedRow returns the namespace, kind and name of an unused object, since when it is marked, and its rule.
func (r *Result) UnusedRow(i int) []string {
	row, since := &r.Rows[i], "unknown"
	if start := row.Verdict.Start; !start.Equal(r.At) { // an object without a mark counts as marked now
		since = FormatTime(start)
	}
	return []string{cmp.Or(row.Namespace, "-"), row.Kind, row.Name, since, row.Verdict.Rule.String()}
}
