// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// summaryOf is the table at the end, in the order of the deletions; Jobs that stay come last.
func summaryOf(f frame, plans []plan) table {
	t := table{header: []string{"JOB", "OUTCOME", "TTL", "DUE", "DELETED", "LATENESS"}}
	var jobs []job
	for _, p := range plans {
		if j, ok := f.job(p); ok {
			jobs = append(jobs, j)
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int {
		if a.gone.IsZero() != b.gone.IsZero() {
			return int(one(a.gone.IsZero()) - one(b.gone.IsZero()))
		}
		return a.gone.Compare(b.gone)
	})
	for _, j := range jobs {
		t.rows = append(t.rows, summaryRow(j, f))
	}
	return t
}

func summaryRow(j job, f frame) []cell {
	w := rowOf(j, f)
	row := []cell{{text: w.name}, {text: w.state, tone: stateTone(j)}, {text: w.ttl, right: true}, {text: w.due}}
	if j.gone.IsZero() {
		return append(row, cell{text: "-"}, cell{text: w.fate, tone: w.tone})
	}
	late, since := j.lateness(f.rules)
	text := span(late)
	if since != sinceDue {
		text += " after " + since
	}
	return append(row, cell{text: j.gone.UTC().Format("15:04:05.000")}, cell{text: text, tone: latenessTone(late)})
}

func latenessTone(late time.Duration) tone {
	if late < 0 || late > tolerance {
		return bad
	}
	return good
}

// totals sums up a run.
type totals struct {
	deleted, early, kept int
	pods                 int             // Pods of deleted Jobs
	late                 []time.Duration // lateness of each deletion, ascending
}

func totalsOf(f frame) totals {
	var t totals
	for _, j := range f.jobs {
		if j.gone.IsZero() {
			t.kept++
			continue
		}
		late, _ := j.lateness(f.rules)
		t.deleted++
		t.early += int(one(late < 0))
		t.pods += j.pods
		t.late = append(t.late, late)
	}
	slices.Sort(t.late)
	return t
}

// text is the totals in one line.
func (t totals) text(p paint) string {
	parts := []string{p.in(heading, fmt.Sprintf("%d deleted, %d early", t.deleted, t.early))}
	if n := len(t.late); n > 0 {
		parts = append(parts,
			fmt.Sprintf("late: median %s, worst %s", span(t.late[(n-1)/2]), span(t.late[n-1])),
			fmt.Sprintf("%d Pods left over", t.pods))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d Jobs stay", t.kept)), "; ")
}
