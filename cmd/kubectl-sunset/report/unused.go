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
		p.addNumbers(what, len(r.Rows), func(i int) (string, int) { return row(i)[column], 0 })
	}
	p.add("Objects", Table{Columns: Columns(titles...), Len: len(r.Rows), Row: row})
	return p
}

// addNumbers adds a table with the numbers of objects and, unless all are 0, of bytes of each group.
func (p *Page) addNumbers(what string, n int, of func(i int) (group string, bytes int)) {
	objects, bytes, all := map[string]int{}, map[string]int{}, 0
	for i := range n {
		group, size := of(i)
		objects[group]++
		bytes[group] += size
		all += size
	}
	names, columns := slices.Sorted(maps.Keys(objects)), Columns(what, ">Objects", ">Bytes")
	if all == 0 {
		columns = columns[:2]
	}
	p.add("By "+strings.ToLower(what), Table{Columns: columns, Len: len(names), Row: func(i int) []string {
		return []string{names[i], fmt.Sprint(objects[names[i]]), fmt.Sprint(bytes[names[i]])}[:len(columns)]
	}})
}
