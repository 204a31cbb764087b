// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// OfUnused returns the page of the objects that nothing uses: numbers by kind and namespace, and every object.
func OfUnused(r *preview.Result) *Page {
	p := &Page{Title: "Unused objects", Facts: []Fact{
		{"At", preview.FormatTime(r.At)},
		{"Objects", fmt.Sprintf("%d; no tool can prove that an object is unused: a program may read it by a name in its code", len(r.Rows))},
	}}
	if len(r.Failures) > 0 {
		p.add(fmt.Sprintf("Errors: %d", len(r.Failures)), failures(r.Failures))
	}
	titles, row := r.Unused()
	for column, what := range []string{"Namespace", "Kind"} {
		count := map[string]int{}
		for i := range r.Rows {
			count[row(i)[column]]++
		}
		names := slices.Sorted(maps.Keys(count))
		p.add("By "+strings.ToLower(what), Table{Columns: Columns(what, ">Objects"), Len: len(names), Row: func(i int) []string {
			return []string{names[i], fmt.Sprint(count[names[i]])}
		}})
	}
	p.add("Objects", Table{Columns: Columns(titles...), Len: len(r.Rows), Row: row})
	return p
}
