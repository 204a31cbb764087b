// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sunset-k8s/sunset/policy"
)

// HasSizes reports whether the size of a subject is known.
func (r *Result) HasSizes() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Storage.Bytes > 0 })
}

// ShownStorage returns storage for display, with its cost if there are prices.
func (r *Result) ShownStorage(a policy.Amount) string {
	switch {
	case a.Bytes == 0:
		return "-"
	case r.Prices == nil:
		return FormatBytes(a.Bytes)
	default:
		return FormatBytes(a.Bytes) + ", " + r.Prices.Format(a.Cost)
	}
}

// ShownTotal returns the number of subjects, and the storage of the subjects whose size is known.
func (r *Result) ShownTotal(t Total) string {
	if t.Storage.Bytes == 0 {
		return strconv.Itoa(t.Subjects)
	}
	return fmt.Sprintf("%d (%s)", t.Subjects, r.ShownStorage(t.Storage))
}

// Estimates says what is estimated; empty if nothing is.
func (r *Result) Estimates() string {
	var all []string
	if r.EstimatedSizes {
		all = append(all, "sizes that rules compute with bytes")
	}
	if r.Prices != nil {
		all = append(all, "costs for a month")
	}
	if len(all) == 0 || !r.HasSizes() {
		return ""
	}
	return "Estimated: " + strings.Join(all, ", ")
}
