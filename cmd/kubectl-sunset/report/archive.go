// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/archive"
	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
)

// OfArchive returns the page of archived objects: numbers by policy, kind, namespace and day, and every object.
func OfArchive(l *archive.List, at time.Time) *Page {
	p := &Page{Title: "Archived objects", Facts: []Fact{{"At", preview.FormatTime(at)}, {"Archive", l.Archive}, {"Objects", fmt.Sprint(len(l.Items))}}}
	for _, by := range []struct {
		what string
		of   func(*archive.Entry) string
	}{
		{"Policy", func(o *archive.Entry) string { return o.Policy }},
		{"Kind", func(o *archive.Entry) string { kind, _ := o.Kind(); return kind.Kind }},
		{"Namespace", func(o *archive.Entry) string { return cmp.Or(o.Namespace, "-") }},
		{"Day", func(o *archive.Entry) string { return o.ArchivedAt.UTC().Format(time.DateOnly) }},
	} {
		p.addNumbers(by.what, len(l.Items), func(i int) (string, int) {
			if l.Items[i].Dependent != "" { // several can be in one record
				return by.of(&l.Items[i]), 0
			}
			return by.of(&l.Items[i]), l.Items[i].Bytes
		})
	}
	const columns = 11 // without the UID and the segment, which would make the page too large for a mail
	p.add("Objects", Table{Columns: Columns(archive.Titles[:columns]...), Len: len(l.Items), Row: func(i int) []string {
		return l.Items[i].Row(preview.FormatTime(l.Items[i].ArchivedAt))[:columns]
	}})
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
