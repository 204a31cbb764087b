// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sunset-k8s/sunset/cmd/kubectl-sunset/preview"
	"github.com/sunset-k8s/sunset/policy"
)

// ahead is the number of days that a chart shows.
const ahead = 30

// group counts objects that have something in common. now, day, week and soon each include those before it.
type group struct {
	name                              string
	now, day, week, soon, later, kept preview.Total
	days                              [ahead + 2]int // due now, today, and on each of the next days in UTC
}

func (g *group) count(r *preview.Row, at time.Time) {
	one := preview.Total{Subjects: 1, Storage: r.Storage}
	if r.Verdict.IsKept() {
		g.kept.Add(one)
		return
	}
	left := r.Verdict.Due.Sub(at)
	if left > ahead*policy.Day {
		g.later.Add(one)
		return
	}
	g.soon.Add(one)
	if left <= policy.Week {
		g.week.Add(one)
	}
	if left <= policy.Day {
		g.day.Add(one)
	}
	if left <= 0 {
		g.now.Add(one)
		g.days[0]++
		return
	}
	g.days[1+int(midnight(r.Verdict.Due).Sub(midnight(at))/policy.Day)]++
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(policy.Day) }

// breakdown counts the objects of each group, in a chart and a table. The groups with most objects in the chart come first.
func breakdown(what string, r *preview.Result, rows []preview.Row, of func(*preview.Row) string) Section {
	byName := map[string]*group{}
	for i := range rows {
		name := of(&rows[i])
		if byName[name] == nil {
			byName[name] = &group{name: cmp.Or(name, "no "+what)}
		}
		byName[name].count(&rows[i], r.At)
	}
	var groups []*group
	for _, g := range byName {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(b.soon.Subjects-a.soon.Subjects, cmp.Compare(a.name, b.name))
	})
	columns := Columns(what, ">Due now", ">1 day", ">7 days", fmt.Sprintf(">%d days", ahead), ">Later", ">Kept")
	return Section{
		Title: "By " + what,
		Chart: chartOf(what, groups, r.At),
		Table: Table{Columns: columns, Colors: true, Len: len(groups), Row: func(i int) []string {
			g := groups[i]
			cells := []string{g.name}
			for _, t := range []preview.Total{g.now, g.day, g.week, g.soon, g.later, g.kept} {
				cells = append(cells, r.ShownTotal(t))
			}
			return cells
		}},
	}
}

func chartOf(what string, groups []*group, at time.Time) *Chart {
	labels := []string{"now"}
	for day := range ahead + 1 {
		labels = append(labels, midnight(at).Add(time.Duration(day)*policy.Day).Format("Jan 2"))
	}
	var days []Days
	for _, g := range groups {
		if g.soon.Subjects > 0 {
			days = append(days, Days{g.name, g.days[:]})
		}
	}
	if len(days) == 0 {
		return nil
	}
	return NewChart(fmt.Sprintf("Number of objects that are due on each of the next %d days, by %s. The table has the numbers.", ahead, what), labels, days)
}
