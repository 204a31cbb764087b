// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// OfUnused returns the page of the objects that nothing uses: numbers and sizes by kind and namespace, and every object.
func OfUnused(r *preview.Result) *Page {
	var all preview.Total
	for i := range r.Rows {
		all.Add(preview.Total{Subjects: 1, Storage: r.Rows[i].Storage})
	}
	p := &Page{Title: "Unused objects", Facts: []Fact{
		{"At", preview.FormatTime(r.At)},
		{"Objects", fmt.Sprintf("%d; no tool can prove that an object is unused: a program may read it by a name in its code", len(r.Rows))},
	}}
	if r.HasSizes() {
		p.Facts = append(p.Facts, Fact{"Total size", r.ShownStorage(all.Storage)})
	}
	if text := r.Estimates(); text != "" {
		p.Facts = append(p.Facts, Fact{"Storage", text})
	}
	if len(r.Failures) > 0 {
		p.add(fmt.Sprintf("Errors: %d", len(r.Failures)), failures(r.Failures))
	}
	p.Sections = append(p.Sections,
		unusedBy("kind", r, func(r *preview.Row) string { return r.Kind }),
		unusedBy("namespace", r, func(r *preview.Row) string { return cmp.Or(r.Namespace, "no namespace") }))
	titles, row := r.Unused()
	p.add("Objects", Table{Columns: Columns(titles...), Len: len(r.Rows), Row: row})
	return p
}

// unusedBy counts the objects of each group, in a chart and a table. The groups with most objects come first.
func unusedBy(what string, r *preview.Result, of func(*preview.Row) string) Section {
	totals := map[string]*preview.Total{}
	var names []string
	for i := range r.Rows {
		name := of(&r.Rows[i])
		if totals[name] == nil {
			totals[name] = &preview.Total{}
			names = append(names, name)
		}
		totals[name].Add(preview.Total{Subjects: 1, Storage: r.Rows[i].Storage})
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(totals[b].Subjects-totals[a].Subjects, cmp.Compare(a, b))
	})
	titles := []string{what, ">Objects"}
	if r.HasSizes() {
		titles = append(titles, ">Size")
	}
	s := Section{Title: "By " + what, Table: Table{Columns: Columns(titles...), Colors: true, Len: len(names), Row: func(i int) []string {
		total := totals[names[i]]
		return []string{names[i], fmt.Sprint(total.Subjects), r.ShownStorage(total.Storage)}[:len(titles)]
	}}}
	if len(names) > 0 {
		numbers := make([]int, len(names))
		for i, name := range names {
			numbers[i] = totals[name].Subjects
		}
		s.Chart = NewRanking(fmt.Sprintf("Number of unused objects by %s. The table has the numbers.", what), names, numbers)
	}
	return s
}
