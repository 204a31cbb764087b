// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/report"
)

// numbers counts the objects and bytes of each group.
func (l *List) numbers(what string, of func(*ArchivedObject) string) report.Table {
	type number struct{ objects, bytes int }
	count := map[string]number{}
	for i := range l.Items {
		n := count[of(&l.Items[i])]
		count[of(&l.Items[i])] = number{n.objects + 1, n.bytes + l.Items[i].Bytes}
	}
	names := slices.Sorted(maps.Keys(count))
	return report.Table{Columns: report.Columns(what, ">Objects", ">Bytes"), Len: len(names), Row: func(i int) []string {
		n := count[names[i]]
		return []string{names[i], strconv.Itoa(n.objects), strconv.Itoa(n.bytes)}
	}}
}
