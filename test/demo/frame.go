// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// frame is everything that the demo shows at one time.
type frame struct {
	phase   string
	elapsed time.Duration
	now     time.Time
	policy  policyView
	jobs    []job
	rules   history
	help    []string
}

// job returns the Job of a plan.
func (f frame) job(p plan) (job, bool) {
	for _, j := range f.jobs {
		if j.namespace == p.namespace && j.name == p.name {
			return j, true
		}
	}
	return job{}, false
}

// lines draws the frame for a screen of this size. A narrow screen shows fewer columns, a low screen fewer Jobs.
func (f frame) lines(p paint, width, height int) []string {
	lines := []string{
		p.in(heading, "Sunset") + "  " + f.phase + p.in(quiet, fmt.Sprintf("  %s UTC, %d s", clockTime(f.now), int(f.elapsed.Seconds()))),
		"",
		p.in(heading, "$ kubectl get cret"),
	}
	lines = append(lines, strings.Split(strings.TrimSpace(f.policy.printed), "\n")...)
	lines = append(lines, "")
	tail := f.tail(p)
	const head, more = 1, 1 // lines of the table of Jobs in addition to its rows
	jobs, left := fit(f.jobs, height-len(lines)-len(tail)-head-more)
	lines = append(lines, f.table(jobs).narrow(width, "FINISHED", "PODS").lines(p)...)
	if left > 0 {
		lines = append(lines, p.in(quiet, fmt.Sprintf("and %d before", left)))
	}
	return append(lines, tail...)
}

func (f frame) tail(p paint) []string {
	lines := []string{"", totalsOf(f).text(p)}
	if len(f.help) > 0 {
		lines = append(append(lines, ""), f.help...)
	}
	return lines
}

func (f frame) table(jobs []job) table {
	t := table{header: []string{"JOB", "STATE", "FINISHED", "TTL", "DUE", "PODS", "WHAT HAPPENS"}}
	for _, j := range jobs {
		w := rowOf(j, f)
		t.rows = append(t.rows, []cell{
			{text: w.name, tone: faded(j, plainTone)}, {text: w.state, tone: faded(j, stateTone(j))},
			{text: w.finished, tone: faded(j, plainTone)}, {text: w.ttl, tone: faded(j, plainTone), right: true},
			{text: w.due, tone: faded(j, plainTone)}, {text: fmt.Sprint(j.pods), tone: faded(j, plainTone), right: true},
			{text: w.fate, tone: w.tone},
		})
	}
	return t
}

// faded replaces the tone of deleted Jobs.
func faded(j job, t tone) tone {
	if !j.gone.IsZero() {
		return quiet
	}
	return t
}

func stateTone(j job) tone {
	switch j.state() {
	case "Running":
		return busy
	case "Failed":
		return bad
	default:
		return good
	}
}

// fit drops the Jobs that do not fit on the screen, first those deleted first, and returns how many it dropped.
func fit(jobs []job, rows int) ([]job, int) {
	kept := append([]job(nil), jobs...)
	for len(kept) > max(rows, 1) {
		kept = append(kept[:firstGone(kept)], kept[firstGone(kept)+1:]...)
	}
	return kept, len(jobs) - len(kept)
}

// firstGone returns the index of the Job that was deleted first; 0 when all exist.
func firstGone(jobs []job) int {
	first := 0
	for i, j := range jobs {
		if !j.gone.IsZero() && (jobs[first].gone.IsZero() || j.gone.Before(jobs[first].gone)) {
			first = i
		}
	}
	return first
}
